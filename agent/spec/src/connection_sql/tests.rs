//! Every form that is accepted, what is refused and where, and that no error repeats a value.

use super::*;

fn check(text: &str, expected: &str) {
    let found = match parse(text) {
        Ok(statement) => said(statement),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expected, "{text}");
}

/// A statement in one line, with its texts.
fn said(statement: Statement) -> String {
    let value = |value: SqlValue| match value {
        SqlValue::Literal(text) => format!("{:?}", text.into_string()),
        SqlValue::Secret(secret) => format!("{}/{}", secret.scope, secret.key),
    };
    let options = |options: Vec<SqlOption>| {
        let options: Vec<String> = options
            .into_iter()
            .map(|option| format!("{}={}", option.name.text.expose(), value(option.value)))
            .collect();
        options.join(" ")
    };
    match statement {
        Statement::Create {
            name,
            if_not_exists,
            kind,
            options: set,
            comment,
        } => format!("create {name} {if_not_exists} {kind} [{}] {comment:?}", options(set)),
        Statement::Alter { name, set, unset } => {
            let unset: Vec<String> = unset.into_iter().map(|name| name.text.into_string()).collect();
            format!("alter {name} [{}] [{}]", options(set), unset.join(" "))
        }
        Statement::Drop { name, if_exists } => format!("drop {name} {if_exists}"),
        Statement::Show => "show".to_owned(),
        Statement::Describe { name } => format!("describe {name}"),
        Statement::Comment { name, comment } => format!("comment {name} {comment:?}"),
    }
}

#[test]
fn every_form_is_accepted() {
    for (text, expected) in [
        (
            "CREATE CONNECTION payments TYPE KAFKA OPTIONS (bootstrap_servers 'b:9092', user 'u', password 'p')",
            r#"create payments false KAFKA [bootstrap_servers="b:9092" user="u" password="p"] None"#,
        ),
        (
            "create connection if not exists `pay-ments` type kinesis options (\n  `aws_region` = 'eu-central-1', 'credential' \"c\" ) comment 'why' ;",
            r#"create pay-ments true KINESIS [aws_region="eu-central-1" credential="c"] Some("why")"#,
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (\"password\" secret('pay', 'pw'), Schema_Registry_API_Secret=secret ( 's.1' , 'k@2' )) -- ends here",
            "create p false KAFKA [password=pay/pw Schema_Registry_API_Secret=s.1/k@2] None",
        ),
        (
            "CREATE /* a */ CONNECTION p TYPE KAFKA OPTIONS (password secret('pay', 'pw'))",
            "create p false KAFKA [password=pay/pw] None",
        ),
        ("CREATE CONNECTION p TYPE KAFKA", "create p false KAFKA [] None"),
        ("CREATE CONNECTION p TYPE KAFKA OPTIONS ()", "create p false KAFKA [] None"),
        (
            "ALTER CONNECTION p OPTIONS (user 'v') UNSET OPTIONS (ca_pem, `credential`)",
            r#"alter p [user="v"] [ca_pem credential]"#,
        ),
        ("ALTER CONNECTION p UNSET OPTIONS (ca_pem)", "alter p [] [ca_pem]"),
        ("DROP CONNECTION p", "drop p false"),
        ("DROP CONNECTION IF EXISTS `p`;", "drop p true"),
        ("show connections", "show"),
        ("DESC CONNECTION p", "describe p"),
        ("DESCRIBE CONNECTION p", "describe p"),
        ("COMMENT ON CONNECTION p IS 'x'", r#"comment p Some("x")"#),
        ("COMMENT ON CONNECTION p IS NULL", "comment p None"),
    ] {
        check(text, expected);
    }
}

#[test]
fn quotes_and_escapes_are_those_of_spark() {
    for (value, expected) in [
        ("'it''s'", "\"it's\""),
        (r"'it\'s'", "\"it's\""),
        (r#""say \"hi\"""#, r#""say \"hi\"""#),
        (r#""say ""hi""""#, r#""say \"hi\"""#),
        (r"'a\\b'", r#""a\\b""#),
        (r"r'a\b'", r#""a\\b""#),
        (r"'\u0041\n'", r#""A\n""#),
        ("'a; DROP CONNECTION p'", r#""a; DROP CONNECTION p""#),
        ("'a -- b'", r#""a -- b""#),
        ("'secret(''s'', ''k'')'", r#""secret('s', 'k')""#),
        ("TRUE", r#""TRUE""#),
        ("10", r#""10""#),
        ("''", r#""""#),
    ] {
        check(
            &format!("ALTER CONNECTION p OPTIONS (user {value})"),
            &format!("alter p [user={expected}] []"),
        );
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, expected) in [
        (
            "",
            "line 1, column 1: this is no statement about connections; write CREATE CONNECTION",
        ),
        ("SELECT 1", "line 1, column 1: this is no statement"),
        ("CREATE CATALOG c", "line 1, column 8: CONNECTION is missing"),
        (
            "CREATE CONNECTION p\nTYPE MYSQL",
            "line 2, column 6: this is no type of connection; write KAFKA or KINESIS",
        ),
        ("CREATE CONNECTION a.b TYPE KAFKA", "line 1, column 19: the name holds '.'"),
        (
            "CREATE CONNECTION 'p' TYPE KAFKA",
            "line 1, column 19: the connection's name is in quotes",
        ),
        ("CREATE CONNECTION IF EXISTS p TYPE KAFKA", "line 1, column 22: NOT is missing"),
        (
            "CREATE CONNECTION pay-ments TYPE KAFKA",
            "line 1, column 22: this character means nothing here",
        ),
        ("CREATE CONNECTION `p TYPE KAFKA", "line 1, column 19: the quote ``` has no end"),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (user)",
            "line 1, column 45: the option has no value",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (user 'u'",
            "line 1, column 49: a `,` or `)` is missing",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (user 'u',)",
            "line 1, column 50: the name of an option is missing",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (\n  usr 'u')",
            "line 2, column 3: `usr` is not an option of a KAFKA connection; did you mean `user`?",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (user 'u', USER 'v')",
            "line 1, column 51: the option `user` is named twice",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (user secret('s', 'k'))",
            "line 1, column 41: the option `user` is no secret; write the value in quotes: secret() is for password and \
             schema_registry_api_secret",
        ),
        (
            "CREATE CONNECTION p TYPE KINESIS OPTIONS (endpoint secret('s', 'k'))",
            "line 1, column 43: the option `endpoint` is no secret; write the value in quotes",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (password secret('s'))",
            "line 1, column 60: a `,` is missing",
        ),
        (
            "CREATE CONNECTION p TYPE KAFKA OPTIONS (password secret('s/', 'k'))",
            "line 1, column 57: this is no name of a secret's scope",
        ),
        ("ALTER CONNECTION p", "line 1, column 19: nothing is to be changed"),
        (
            "SHOW CONNECTIONS; DROP CONNECTION p",
            "line 1, column 19: the statement ends before this",
        ),
        ("/* open", "line 1, column 1: the comment has no end"),
        (
            "ALTER CONNECTION p OPTIONS (user '\\ud800')",
            "line 1, column 34: an escape in the text is no character",
        ),
    ] {
        let error = parse(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let long = format!("SHOW CONNECTIONS -- {}", "a".repeat(crate::limits::SQL_TEXT_BYTES_MAX));
    assert!(parse(&long).expect_err("long").problem.contains("bytes"));
}

/// Mistakes around a password, each of which leaves it, or a part of it, outside of its quotes or its option.
#[test]
fn no_error_repeats_a_value() {
    for options in [
        "password hunter2",
        "password `hunter2`",
        "password 'a'hunter2'",
        "password 'a' 'hunter2'",
        "password 'hunter2",
        "password \"hunter2",
        "password 'a', 'hunter2' 'b'",
        "'hunter2' 'b'",
        "pasword 'hunter2'",
        "password 'hunter2', password 'hunter2'",
        "password secret('hunter2/', 'k')",
        "password secret(hunter2, 'k')",
        "password 'hunter2\\ud800'",
        "password 'hunter2' user",
    ] {
        let text = format!("CREATE CONNECTION p TYPE KAFKA OPTIONS ({options})");
        let error = parse(&text).expect_err(options);
        let said = format!("{error} {error:?}");
        assert!(!said.contains("hunter2"), "{options}: {said}");
    }
    let statement = parse("ALTER CONNECTION p OPTIONS (password 'hunter2')").expect("sound");
    assert!(!format!("{statement:?}").contains("hunter2"));
}
