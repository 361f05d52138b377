//! The description of the interface in OpenAPI 3.1, made from the table of routes.

use super::routes::{Route, SchemaOf, routes};
use crate::problem::PROBLEM_STATUSES;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Problems that any request can meet: malformed head or path, database away, mistake of ours.
const ANY: [u16; 2] = [500, 503];
/// Problems that any request with a body can meet.
const WITH_BODY: [u16; 4] = [400, 408, 413, 415];
/// Problems that any request with a session can meet.
const WITH_SESSION: [u16; 3] = [401, 403, 429];

/// The description as JSON. The same is served at `/openapi.json`.
#[must_use]
pub fn openapi() -> String {
    let mut generator =
        SchemaSettings::draft2020_12().with(|set| set.definitions_path = "/components/schemas".into()).into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let operation = operation(&route, &mut generator);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_lowercase()] = operation;
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Problem".to_owned(), problem());
    let description = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "candor login",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Password login by OPAQUE (RFC 9807) with ML-KEM-768. Bytes are base64url without padding. Every login, registration and change of a \
                            password is a pair of requests; what the server must remember in between is in `state`, sealed, and comes back as it is.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": problems(),
            "securitySchemes": {
                "session": { "type": "http", "scheme": "bearer", "description": "The access token of a session" },
            },
        },
    });
    let mut text = serde_json::to_string_pretty(&description).unwrap_or_default();
    text.push('\n');
    text
}

fn operation(route: &Route, generator: &mut SchemaGenerator) -> Value {
    let mut responses = Map::new();
    let (status, schema) = route.success;
    responses.insert(status.to_string(), success(route, schema, generator));
    let mut problems = ANY.to_vec();
    problems.extend(route.problems);
    if route.body.is_some() {
        problems.extend(WITH_BODY);
    }
    if route.session.is_some() {
        problems.extend(WITH_SESSION);
    }
    problems.sort_unstable();
    problems.dedup();
    for status in problems {
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/Problem{status}") }));
    }
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "responses": responses,
    });
    if let Some(body) = route.body {
        let schema = body(generator);
        operation["requestBody"] = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    }
    if let Some(kind) = route.session {
        operation["security"] = json!([{ "session": [] }]);
        operation["description"] = match kind {
            "any" => "Needs a session.".into(),
            kind => format!("Needs a {kind} session.").into(),
        };
    }
    if let Some((_, name)) = route.path.split_once('{') {
        let name = name.trim_end_matches('}');
        let schema = json!({ "type": "string", "pattern": "^[0-9a-f]{32}$" });
        operation["parameters"] = json!([{ "name": name, "in": "path", "required": true, "schema": schema }]);
    }
    operation
}

fn success(route: &Route, schema: Option<SchemaOf>, generator: &mut SchemaGenerator) -> Value {
    match schema {
        Some(schema) => {
            let schema = schema(generator);
            json!({ "description": "done", "content": { "application/json": { "schema": schema } } })
        }
        None if route.success.0 == 204 => json!({ "description": "done" }),
        None if route.path == "/metrics" => {
            json!({ "description": "done", "content": { "application/openmetrics-text": { "schema": { "type": "string" } } } })
        }
        None => json!({ "description": "done", "content": { "application/json": { "schema": { "type": "object" } } } }),
    }
}

/// A name for the operation, such as `post_login_start`.
fn operation_id(route: &Route) -> String {
    let path = route.path.trim_start_matches("/v1").replace(['/', '.'], "_").replace(['{', '}'], "");
    format!("{}{path}", route.method.as_str().to_lowercase())
}

/// What a problem of each status looks like.
fn problems() -> Map<String, Value> {
    let content = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let problem = |(status, title): &(u16, &str)| {
        (format!("Problem{status}"), json!({ "description": title, "content": content }))
    };
    PROBLEM_STATUSES.iter().map(problem).collect()
}

/// The schema of a problem, RFC 9457.
fn problem() -> Value {
    json!({
        "type": "object",
        "description": "Why a request was not done (RFC 9457). Nothing in it tells whether an account exists.",
        "required": ["type", "title", "status"],
        "properties": {
            "type": { "type": "string", "pattern": "^urn:candor:login:[a-z-]+$" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::super::routes::{PATHS, name_of};
    use super::*;

    #[test]
    fn the_description_has_every_route_and_nothing_else() {
        let description: Value = serde_json::from_str(&openapi()).unwrap();
        let paths = description["paths"].as_object().unwrap();
        let mut described = 0;
        for route in routes() {
            let operation = &paths[route.path][route.method.as_str().to_lowercase()];
            assert_eq!(operation["summary"], route.summary);
            assert_eq!(operation["requestBody"].is_object(), route.body.is_some(), "{}", route.path);
            assert_eq!(operation["parameters"].is_array(), route.path.contains('{'), "{}", route.path);
            described += 1;
        }
        let all: usize = paths.values().map(|path| path.as_object().unwrap().len()).sum();
        assert_eq!(all, described);
    }

    #[test]
    fn the_page_in_docs_is_this_description() {
        assert!(
            openapi() == include_str!("../../docs/openapi.json"),
            "run `candor login openapi > crates/login/docs/openapi.json`"
        );
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let text = openapi();
        let description: Value = serde_json::from_str(&text).unwrap();
        let references: Vec<&str> =
            text.lines().filter_map(|line| line.trim().strip_prefix("\"$ref\": \"#")?.split('"').next()).collect();
        assert!(references.len() > 20);
        for reference in references {
            assert!(description.pointer(reference).is_some(), "{reference}");
        }
    }

    #[test]
    fn the_paths_of_the_metrics_are_those_of_the_routes() {
        let mut paths: Vec<&str> = routes().iter().map(|route| route.path).collect();
        paths.dedup();
        assert_eq!(paths, PATHS);
        assert_eq!(name_of("/v1/sessions/{session}"), "/v1/sessions/{session}");
        assert_eq!(name_of("/v1/other"), "none");
    }
}
