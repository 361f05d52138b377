//! The store on both databases: every test in these modules runs on SQLite and on PostgreSQL.

mod accounts;
mod audit;
mod backup;
mod databases;
mod faults;
mod kills;
mod migration;
mod people;
mod ring;
mod sessions;
mod tls;
