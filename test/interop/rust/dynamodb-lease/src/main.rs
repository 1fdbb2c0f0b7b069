//! Lets another process use dynamodb-lease: see ../../README.md.

mod steps;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    lines::serve::<steps::LeaseSteps>("dynamodb-lease").await
}
