//! nginx, through reqwest, which insists on tokio, and curl, as a child of ours.

use std::fs;
use std::time::Duration;

use reqwest::{Client, StatusCode};
use rt::process::Command;
use rt::task::JoinSet;
use rt_ecosystem::nginx::Nginx;
use rt_ecosystem::{Folder, program};
use rt_tests::Watchdog;

/// Bytes that do not repeat.
fn content(length: u32) -> Vec<u8> {
    (0..length / 4).flat_map(u32::to_le_bytes).collect()
}

#[test]
fn reqwest_runs_in_the_context_of_tokio() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(2));
    let Some(server) = Nginx::start() else {
        return;
    };
    let large = content(20_000_000);
    fs::write(server.files().join("large"), &large).unwrap();
    fs::write(server.files().join("small"), "a small file").unwrap();
    let runtime = rt::Runtime::builder().tokio_context(true).build().unwrap();
    runtime.block_on(async {
        let client = Client::builder()
            .timeout(Duration::from_mins(1))
            .build()
            .unwrap();
        let mut requests = JoinSet::new();
        for _ in 0..100 {
            let request = client.get(server.url() + "small");
            requests.spawn(async move { request.send().await?.text().await });
        }
        while let Some(answer) = requests.join_next().await {
            assert_eq!(answer.unwrap().unwrap(), "a small file");
        }

        let answer = client.get(server.url() + "large").send().await.unwrap();
        assert!(answer.bytes().await.unwrap() == large);
        let url = server.url() + "copy";
        let answer = client.put(url).body(large.clone()).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
        assert!(fs::read(server.files().join("copy")).unwrap() == large);
        let answer = client.get(server.url() + "nothing").send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    });
}

#[test]
fn curl_is_driven_as_a_child() {
    let _watchdog = Watchdog::with_limit(Duration::from_mins(2));
    let (Some(server), Some(curl)) = (Nginx::start(), program("curl")) else {
        return;
    };
    let folder = Folder::new();
    let (up, down) = (folder.path().join("up"), folder.path().join("down"));
    let sent = content(5_000_000);
    fs::write(&up, &sent).unwrap();
    let runtime = rt::Runtime::new().unwrap();
    runtime.block_on(async {
        let url = server.url() + "file";
        for (option, path) in [("-T", &up), ("-o", &down)] {
            let status = Command::new(&curl)
                .args(["-fsS", "--max-time", "60", option])
                .args([path.as_os_str(), url.as_ref()])
                .status()
                .await
                .unwrap();
            assert!(status.success());
        }
        assert!(fs::read(&down).unwrap() == sent);
    });
}
