import pytest

from antiloop._json_schema import schema_errors


def errors(value, schema):
    return schema_errors(value, schema, "it")


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("string", "x", 1),
        ("integer", 3, 3.5),
        ("integer", 3.0, "3"),
        ("integer", -1, True),
        ("number", 2.5, False),
        ("number", 2, "2"),
        ("boolean", True, 1),
        ("null", None, 0),
        ("array", [], {}),
        ("array", (1, 2), "ab"),
        ("object", {}, []),
    ],
)
def test_each_type_accepts_its_own_and_refuses_others(name, good, bad):
    assert errors(good, {"type": name}) == []
    assert len(errors(bad, {"type": name})) == 1


def test_a_wrong_type_is_told_with_what_was_expected_and_found():
    assert errors("3", {"type": "integer"}) == ["it: expected an integer, got '3'"]
    assert errors(None, {"type": "string"}) == ["it: expected a string, got null"]


def test_several_types_may_be_allowed():
    schema = {"type": ["string", "null"]}
    assert errors(None, schema) == []
    assert errors(1, schema) == ["it: expected a string or null, got 1"]


def test_a_type_that_is_not_known_is_not_looked_at():
    assert errors(1, {"type": "decimal"}) == []


def test_a_long_value_is_shortened_in_the_message():
    [message] = errors("x" * 500, {"type": "integer"})
    assert len(message) < 120
    assert message.endswith("...")


def test_an_enum_names_its_choices():
    schema = {"enum": ["a", "b"]}
    assert errors("b", schema) == []
    assert errors("c", schema) == ["it: expected one of 'a', 'b', got 'c'"]


def test_true_is_not_one_in_an_enum():
    assert errors(True, {"enum": [1]}) == ["it: expected one of 1, got True"]
    assert errors(True, {"enum": [True]}) == []


def test_a_missing_property_is_named_by_its_path():
    schema = {"properties": {"a": {"type": "object", "required": ["b"]}}}
    assert errors({"a": {}}, schema) == ["it.a.b: missing"]


def test_unknown_properties_are_allowed_unless_forbidden():
    assert errors({"x": 1}, {"properties": {}}) == []
    assert errors({"x": 1}, {"additionalProperties": False}) == ["it.x: unexpected"]


def test_a_forbidden_property_is_no_hint_to_itself():
    schema = {"properties": {"name": False, "names": {}}}
    assert errors({"name": 1}, schema) == ["it.name: unexpected; did you mean 'names'?"]
    assert errors({"name": 1}, {"properties": {"name": False}}) == ["it.name: unexpected"]


def test_unknown_properties_may_have_a_schema():
    schema = {"additionalProperties": {"type": "integer"}}
    assert errors({"x": 1}, schema) == []
    assert errors({"x": "y"}, schema) == ["it.x: expected an integer, got 'y'"]


def test_items_are_named_by_their_place():
    schema = {"items": {"type": "integer"}}
    assert errors([1, "x", 2, None], schema) == [
        "it[1]: expected an integer, got 'x'",
        "it[3]: expected an integer, got null",
    ]


def test_a_fixed_list_has_a_schema_for_each_place_and_one_for_the_rest():
    schema = {"prefixItems": [{"type": "string"}], "items": False}
    assert errors(["a"], schema) == []
    assert errors([1, 2], schema) == ["it[0]: expected a string, got 1", "it[1]: unexpected"]


def test_the_number_of_items_may_be_bounded():
    assert errors([1], {"minItems": 2, "maxItems": 2}) == ["it: expected 2 items, got 1"]
    assert errors([], {"minItems": 1, "maxItems": 3}) == ["it: expected 1 to 3 items, got 0"]
    assert errors([1, 2], {"minItems": 2, "maxItems": 2}) == []


def test_too_few_items_of_an_unbounded_list_are_told_by_the_least():
    assert errors([1], {"minItems": 2}) == ["it: expected at least 2 items, got 1"]


def test_one_of_several_schemas_is_enough():
    schema = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert errors(None, schema) == []
    assert errors("x", schema) == ["it: expected an integer or null, got 'x'"]


def test_of_several_schemas_the_one_that_came_closest_is_reported():
    record = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
    schema = {"anyOf": [{"type": "null"}, record]}
    assert errors({"id": "x"}, schema) == ["it.id: expected an integer, got 'x'"]
    assert errors({}, schema) == ["it.id: missing"]


def test_no_schema_at_all_allows_everything():
    assert errors(object(), {}) == []
    assert errors(object(), True) == []
    assert errors(1, {"anyOf": []}) == ["it: no value is allowed here"]


def test_keywords_work_together():
    schema = {"type": "object", "properties": {"n": {"type": "integer", "enum": [1, 2]}}}
    assert errors({"n": 3}, schema) == ["it.n: expected one of 1, 2, got 3"]


TREE = {
    "$defs": {
        "Leaf": {"type": "integer"},
        "Tree": {"properties": {"leaf": {"$ref": "#/$defs/Leaf"}, "next": {"$ref": "#"}}},
    },
    "$ref": "#/$defs/Tree",
}


@pytest.mark.parametrize(("depth", "path"), [(0, "it"), (1, "it.next"), (3, "it.next.next.next")])
def test_references_are_followed_at_any_depth(depth, path):
    good, bad = {"leaf": 1}, {"leaf": "x"}
    for _ in range(depth):
        good, bad = {"next": good}, {"next": bad}
    assert errors(good, TREE) == []
    assert errors(bad, TREE) == [f"{path}.leaf: expected an integer, got 'x'"]


def test_a_rule_beside_a_reference_counts_too():
    schema = {"anyOf": [{"$ref": "#/$defs/Few", "minItems": 2}], "$defs": {"Few": {"maxItems": 3}}}
    assert [errors([0] * size, schema) == [] for size in range(1, 5)] == [False, True, True, False]


@pytest.mark.parametrize("target", ["#/nowhere", "#/$ref/a", "other.json#/a", 5, "#/$defs/A"])
def test_a_reference_that_leads_nowhere_allows_everything(target):
    around = {"$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
    assert errors(1, {**around, "$ref": target}) == []
