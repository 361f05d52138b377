//! An empty database of either kind for each test.

use candor_login::{MasterKey, Store};
use candor_test_support::postgres;

/// A database that nobody else uses. It goes when this is dropped; PostgreSQL's goes with its server.
pub(crate) struct Empty {
    pub(crate) url: String,
    pub(crate) master: MasterKey,
    _folder: Option<tempfile::TempDir>,
}

impl Empty {
    pub(crate) fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("login.db").display());
        Self { url, master: MasterKey::from_bytes([1; 32]), _folder: Some(folder) }
    }

    /// `None`, and a line about it, if this machine has no PostgreSQL.
    pub(crate) fn postgres(test: &str) -> Option<Self> {
        match postgres::shared() {
            Ok(server) => Some(Self { url: server.database(), master: MasterKey::from_bytes([1; 32]), _folder: None }),
            Err(why) => {
                postgres::skipped(test, why);
                None
            }
        }
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.url, &self.master).await.unwrap()
    }
}

/// Makes two tests of each function, one a database. The functions take an [`Empty`].
macro_rules! on_both_databases {
    ($($(#[$doc:meta])* $test:ident)*) => {
        mod on_sqlite {
            $($(#[$doc])* #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(&crate::databases::Empty::sqlite()).await;
            })*
        }

        mod on_postgres {
            $($(#[$doc])* #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                let name = concat!(module_path!(), "::", stringify!($test));
                if let Some(empty) = crate::databases::Empty::postgres(name) {
                    super::$test(&empty).await;
                }
            })*
        }
    };
}
pub(crate) use on_both_databases;
