//! SQL about connections, over the port.

use super::*;

const SECRET: &str = "hunter2-of-these-tests";

impl Agent {
    /// The answer's rows, values joined by `|`.
    async fn sql(&mut self, statement: &str) -> Result<Vec<String>, Status> {
        let request = v1::ExecuteSqlRequest {
            statement: statement.into(),
        };
        let answer = self.connections.execute_sql(request).await?.into_inner();
        Ok(answer.rows.iter().map(|row| row.values.join("|")).collect())
    }
}

#[tokio::test]
async fn statements_do_what_the_calls_do() {
    let mut agent = Agent::start().await;
    let create = format!(
        "CREATE CONNECTION IF NOT EXISTS `pay-ments` TYPE KAFKA OPTIONS (bootstrap_servers 'b:9092', sasl_mechanism 'PLAIN', \
         user 'ada', password '{SECRET}') COMMENT 'why'"
    );
    for (statement, expected) in [
        (create.as_str(), vec!["created connection `pay-ments`"]),
        (create.as_str(), vec!["connection `pay-ments` exists already"]),
        ("SHOW CONNECTIONS", vec!["kafka|KAFKA|", "pay-ments|KAFKA|why"]),
        (
            "DESCRIBE CONNECTION `pay-ments`",
            vec![
                "name|pay-ments",
                "type|KAFKA",
                "comment|why",
                "bootstrap_servers|b:9092",
                "security_protocol|SASL_SSL",
                "sasl_mechanism|PLAIN",
                "user|ada",
                "password|*****",
                "created_by|local-admin",
                "updated_by|local-admin",
            ],
        ),
        (
            "ALTER CONNECTION `pay-ments` OPTIONS (password secret('pay', 'pw'))",
            vec!["changed connection `pay-ments`"],
        ),
        (
            "ALTER CONNECTION `pay-ments` OPTIONS (security_protocol 'SSL') UNSET OPTIONS (password, user, sasl_mechanism)",
            vec!["changed connection `pay-ments`"],
        ),
        ("COMMENT ON CONNECTION `pay-ments` IS NULL", vec!["changed connection `pay-ments`"]),
        (
            "DESC CONNECTION `pay-ments`",
            vec![
                "name|pay-ments",
                "type|KAFKA",
                "comment|",
                "bootstrap_servers|b:9092",
                "security_protocol|SSL",
                "created_by|local-admin",
                "updated_by|local-admin",
            ],
        ),
        ("DROP CONNECTION `pay-ments`", vec!["dropped connection `pay-ments`"]),
        ("DROP CONNECTION IF EXISTS `pay-ments`", vec!["there is no connection `pay-ments`"]),
    ] {
        assert_eq!(agent.sql(statement).await.unwrap(), expected, "{statement}");
    }
}

#[tokio::test]
async fn a_refused_statement_says_where_and_nothing_of_its_values() {
    let mut agent = Agent::start().await;
    for (statement, code, expected) in [
        (
            "",
            Code::InvalidArgument,
            "line 1, column 1: this is no statement about connections",
        ),
        ("DROP CONNECTION nothing", Code::NotFound, "there is no connection `nothing`"),
        (
            "CREATE CONNECTION kafka TYPE KAFKA OPTIONS (bootstrap_servers 'b:1', security_protocol 'SSL')",
            Code::AlreadyExists,
            "`kafka` exists already",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (pasword 'hunter2')",
            Code::InvalidArgument,
            "line 1, column 41: `pasword` is not an option of a KAFKA connection; did you mean `password`?",
        ),
        (
            "ALTER CONNECTION kafka OPTIONS (aws_region 'hunter2')",
            Code::InvalidArgument,
            "line 1, column 33: `aws_region` is not an option of a KAFKA connection",
        ),
        (
            "ALTER CONNECTION kafka OPTIONS (password 'hunter2')",
            Code::InvalidArgument,
            "kafka.password: PLAINTEXT does not authenticate by SASL",
        ),
        (
            "ALTER CONNECTION kafka OPTIONS (password 'hunter2",
            Code::InvalidArgument,
            "line 1, column 42: the quote `'` has no end",
        ),
    ] {
        let status = agent.sql(statement).await.unwrap_err();
        let said = format!("{status:?}");
        let problem = status.message().replace(" (found a statement)", "");
        assert!(status.code() == code && problem.contains(expected), "{statement}: {status:?}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
