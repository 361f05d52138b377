//! `candor login backup`: a copy of the database.

use super::open;
use crate::Failure;
use crate::cli::BackupArguments;
use crate::output::Talk;

pub(super) async fn execute(arguments: BackupArguments, talk: Talk) -> Result<(), Failure> {
    open(&arguments.store).await?.back_up(&arguments.file).await?;
    talk.say("the copy is of no use without the master key; keep that elsewhere");
    Ok(())
}
