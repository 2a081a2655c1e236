//! Folders, links and permissions.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;

use rt::fs;
use rt::fs::{DirBuilder, File};

use super::support::each_way;

#[test]
fn folders_are_made_read_and_removed() {
    each_way(async |folder| {
        let root = folder.join("root");
        fs::create_dir(&root).await.unwrap();
        let again = fs::create_dir(&root).await.unwrap_err();
        assert_eq!(again.kind(), ErrorKind::AlreadyExists);
        fs::create_dir_all(root.join("a/b/c")).await.unwrap();
        let mut builder = DirBuilder::new();
        builder
            .mode(0o700)
            .create(root.join("private"))
            .await
            .unwrap();
        let mode = fs::metadata(root.join("private"))
            .await
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
        builder
            .recursive(true)
            .create(root.join("private"))
            .await
            .unwrap();

        let mut names = BTreeSet::new();
        for number in 0..200 {
            let name = format!("file-{number}");
            fs::write(root.join(&name), "").await.unwrap();
            names.insert(name);
        }
        let mut entries = fs::read_dir(&root).await.unwrap();
        let mut folders = 0;
        while let Some(entry) = entries.next_entry().await.unwrap() {
            assert_eq!(entry.path(), root.join(entry.file_name()));
            assert!(entry.ino() > 0);
            let kind = entry.file_type().await.unwrap();
            assert_eq!(entry.metadata().await.unwrap().is_dir(), kind.is_dir());
            if kind.is_dir() {
                folders += 1;
            } else {
                assert!(names.remove(&entry.file_name().into_string().unwrap()));
            }
        }
        assert!(entries.next_entry().await.unwrap().is_none());
        assert_eq!((names.len(), folders), (0, 2));
        let full = fs::remove_dir(&root).await.unwrap_err();
        assert_eq!(full.kind(), ErrorKind::DirectoryNotEmpty);
        fs::remove_dir(root.join("private")).await.unwrap();
        fs::remove_dir_all(&root).await.unwrap();
        assert_eq!(
            fs::read_dir(&root).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}

#[test]
fn names_are_given_changed_and_followed() {
    each_way(async |folder| {
        let (one, two, link) = (folder.join("one"), folder.join("two"), folder.join("link"));
        fs::write(&one, "content").await.unwrap();
        fs::hard_link(&one, &two).await.unwrap();
        fs::symlink(&one, &link).await.unwrap();
        assert_eq!(fs::read_link(&link).await.unwrap(), one);
        assert!(fs::symlink_metadata(&link).await.unwrap().is_symlink());
        assert!(fs::metadata(&link).await.unwrap().is_file());
        let real = folder.canonicalize().unwrap();
        assert_eq!(fs::canonicalize(&link).await.unwrap(), real.join("one"));
        fs::rename(&one, folder.join("three")).await.unwrap();
        assert!(!fs::try_exists(&link).await.unwrap());
        assert_eq!(fs::copy(&two, &one).await.unwrap(), 7);
        assert_eq!(fs::read(&link).await.unwrap(), b"content");
        fs::set_permissions(&one, Permissions::from_mode(0o640))
            .await
            .unwrap();
        let file = File::open(&one).await.unwrap();
        assert_eq!(
            file.metadata().await.unwrap().permissions().mode() & 0o777,
            0o640
        );
        file.set_permissions(Permissions::from_mode(0o600))
            .await
            .unwrap();
        assert_eq!(
            fs::metadata(&one).await.unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::remove_file(&one).await.unwrap();
        assert_eq!(
            fs::remove_file(&one).await.unwrap_err().kind(),
            ErrorKind::NotFound
        );
    });
}
