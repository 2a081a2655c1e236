#[rt::test]
#[test] //~ a second test attribute
async fn twice() {}
