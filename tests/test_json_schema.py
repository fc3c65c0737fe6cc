import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize(
    ("schema", "good", "bad", "wanted"),
    [
        ({"const": "a"}, "a", "b", "'a', got 'b'"),
        ({"const": None}, None, 0, "None, got 0"),
        (
            {"const": [1, {"b": 2}]},
            (1, {"b": 2}),
            [1, {"b": 3}],
            "[1, {'b': 2}], got [1, {'b': 3}]",
        ),
        ({"const": [1]}, [1.0], [True], "[1], got [True]"),
        ({"minimum": 2}, 2, 1, "2 or more, got 1"),
        ({"maximum": 2, "type": "integer"}, 2, 3, "a whole number of 2 or less, got 3"),
        ({"exclusiveMinimum": 2}, 2.5, 2, "more than 2, got 2"),
        ({"exclusiveMaximum": 2}, 1.5, 2, "less than 2, got 2"),
        ({"minLength": 2}, "ab", "a", "at least 2 characters, got 1"),
        ({"maxLength": 2}, "ab", "abc", "at most 2 characters, got 3"),
        ({"maxItems": 1}, ["a"], ["a", "b"], "at most 1 items, got 2"),
        ({"pattern": "^[a-z]+$"}, "ab", "a1", "a text that matches ^[a-z]+$, got 'a1'"),
    ],
)
def test_a_limit_holds_up_to_its_end_and_says_what_it_is(schema, good, bad, wanted):
    assert errors(good, schema) == []
    assert errors(bad, schema) == [f"it: expected {wanted}"]


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"^\p{L}+$"},
        {"pattern": "(?<name>a)"},
        {"pattern": 5},
        {"exclusiveMinimum": True},
        {"minLength": "5"},
        {"maxItems": None},
        {"format": "date"},
        {"not": {}},
    ],
)
def test_what_python_cannot_read_and_what_is_not_known_refuses_nothing(schema):
    assert [errors(value, schema) for value in ("a", 0, ["a"])] == [[], [], []]


def test_all_of_several_schemas_must_fit():
    schema = {"allOf": [{"minimum": 2}, {"type": "integer"}]}
    assert errors(2, schema) == []
    assert errors(1.5, schema) == [
        "it: expected 2 or more, got 1.5",
        "it: expected an integer, got 1.5",
    ]


def tagged(kind):
    fields = {"kind": {"const": kind}, "age": {"type": "integer"}}
    return {"type": "object", "properties": fields, "required": ["kind", "age"]}


@pytest.mark.parametrize("kinds", ["cat dog", "dog cat"])
def test_of_tagged_objects_the_one_that_is_named_is_reported(kinds):
    schema = {"oneOf": [tagged(kind) for kind in kinds.split()]}
    assert errors({"kind": "dog", "age": 3}, schema) == []
    assert errors({"kind": "dog"}, schema) == ["it.age: missing"]
    assert errors({"kind": "owl", "age": 3}, schema) == [
        f"it.kind: expected '{kinds[:3]}', got 'owl'"
    ]


def test_properties_that_fit_a_pattern_are_not_unexpected():
    schema = {"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False}
    assert errors({"x_a": 1}, schema) == []
    assert errors({"x_a": "b", "y": 1}, schema) == [
        "it.x_a: expected an integer, got 'b'",
        "it.y: unexpected",
    ]
    both = {**schema, "properties": {"x_b": {"minimum": 3}}}
    assert errors({"x_b": 1}, both) == ["it.x_b: expected 3 or more, got 1"]


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 2, 1.0, 1.5, "", "a", "ab", "b1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=5,
)
SMALL = st.integers(0, 2)


def schemas(inner):
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "array", "object", ["null", "string"]]
            ),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            **dict.fromkeys(
                ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
                SMALL,
            ),
            **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), SMALL),
            "pattern": st.sampled_from(["^a", "b", "[0-9]$"]),
            **dict.fromkeys(("anyOf", "allOf"), several),
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner),
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "[bc]"]), inner),
            "additionalProperties": inner,
            "required": st.lists(st.sampled_from("abc"), unique=True),
        },
    )


SCHEMAS = st.recursive(st.booleans() | st.just({}), schemas, max_leaves=6)


@given(SCHEMAS, VALUES)
def test_a_value_fits_as_another_library_says(schema, value):
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(schema)
    assert (not errors(value, schema)) is validator.is_valid(value)


@given(st.lists(SCHEMAS, min_size=1, max_size=3), VALUES)
def test_one_of_several_refuses_nothing_that_another_library_takes(choices, value):
    jsonschema = pytest.importorskip("jsonschema")
    schema = {"oneOf": choices}
    assert not errors(value, schema) or not jsonschema.Draft202012Validator(schema).is_valid(value)
