//! Mistakes in `select!` and `join!`, and what is said to them.

use std::future::ready;

async fn mistakes() {
    rt::select! {
        else => {} //~ `select!` needs a branch: `pattern = future => handler`
    }
    rt::select! {
        ready(1) => {} //~ expected `pattern = future => handler`: this branch has no `=`
    }
    rt::select! {
        = ready(1) => {} //~ expected a pattern before the `=`
    }
    rt::select! {
        _ = => {} //~ expected a future after the `=`
    }
    rt::select! {
        _ = ready(1), true => {} //~ expected `=> handler`, or a guard: `, if condition => handler`
    }
    rt::select! {
        _ = ready(1), if => {} //~ expected a condition after `if`
    }
    rt::select! {
        _ = ready(1) //~ this branch has no `=> handler`
    }
    rt::select! {
        _ = ready(1) =>, //~ expected a handler after the `=>`
    }
    rt::select! {
        _ = ready(1) => 1
        _ = ready(2) => 2, //~ a `,` is missing before this branch: a handler without braces ends with one
    };
    rt::select! {
        _ = ready(1) => {}
        else => {}
        _ = ready(2) => {} //~ nothing can follow the `else` branch: it is the last one
    }
    rt::select! {
        _ = ready(1) => {}
        else {} //~ expected `else => handler`
    }
    rt::join!(ready(1), , ready(2)); //~ expected a future before the `,`
}

fn main() {}
