//! The commands of cells and of relay messages. They have a module of their own because errors name them.

mod cell;
mod relay;

pub use cell::Command;
pub use relay::RelayCommand;
