"""Spans out of the JSON that exporters write."""

import base64

import pytest

from antiloop.formats._spans.span import Span, is_span_document, spans_of

TRACE, SPAN, PARENT = "854fe0ff75e30564fbfc3777b9ec1f40", "b7ad6b7169203331", "00f067aa0ba902b7"


def document(**fields):
    return {"resourceSpans": [{"scopeSpans": [{"spans": [fields]}]}]}


def only(value):
    (span,) = spans_of(value)
    return span


def attributes(**values):
    return only(document(attributes=[{"key": k, "value": v} for k, v in values.items()])).attributes


def test_otlp_json_is_read():
    span = only(
        document(
            traceId=TRACE.upper(),
            spanId=SPAN,
            parentSpanId=PARENT,
            startTimeUnixNano="5",
            endTimeUnixNano=9,
            attributes=[{"key": "a", "value": {"intValue": "7"}}],
            events=[{"name": "e", "attributes": [{"key": "b", "value": {"boolValue": False}}]}],
        )
    )
    assert span == Span(TRACE, SPAN, PARENT, 5, 9, {"a": 7}, (("e", {"b": False}),))


def test_protobuf_json_has_other_names_and_ids_in_base64():
    def encoded(digits):
        return base64.b64encode(bytes.fromhex(digits)).decode()

    spans = [{"trace_id": encoded(TRACE), "span_id": encoded(SPAN), "start_time_unix_nano": "5"}]
    span = only({"resource_spans": [{"instrumentation_library_spans": [{"spans": spans}]}]})
    assert (span.trace_id, span.span_id, span.parent_id) == (TRACE, SPAN, "")
    assert (span.start_ns, span.end_ns) == (5, 5)


def test_what_the_console_exporter_prints_is_read():
    span = only(
        {
            "context": {"trace_id": f"0x{TRACE}", "span_id": f"0x{SPAN}"},
            "parent_id": None,
            "start_time": "1970-01-01T00:00:01.500000Z",
            "status": {"status_code": "ERROR", "description": "it broke"},
            "attributes": {"a": [1]},
            "events": [{"name": "e", "attributes": {"b": 1}}],
        }
    )
    start = 1_500_000_000
    expected = Span(TRACE, SPAN, "", start, start, {"a": [1]}, (("e", {"b": 1}),), "it broke")
    assert span == expected


def test_structured_values_become_plain_ones():
    pair = {"key": "n", "value": {"int_value": 3}}
    assert attributes(
        map={"kvlistValue": {"values": [pair]}},
        list={"arrayValue": {"values": [{"stringValue": "a"}, {"doubleValue": 1.5}, {}]}},
        none={},
        wrong=3,
    ) == {"map": {"n": 3}, "list": ["a", 1.5, None], "none": None, "wrong": None}


@pytest.mark.parametrize("status", [{"code": 2}, {"code": "STATUS_CODE_ERROR"}])
def test_a_failure_is_told_by_its_exception_or_else_by_the_status(status):
    told = [{"key": "exception.message", "value": {"stringValue": "no such file"}}]
    event = {"name": "exception", "attributes": told}
    failed = document(status={**status, "message": "OSError"}, events=[event])
    assert only(failed).error == "no such file"
    assert only(document(status={**status, "message": "OSError"})).error == "OSError"
    assert only(document(status=status)).error == ""
    assert only(document(status={"code": 1})).error is None


@pytest.mark.parametrize("id_", ["x" * 24, "x" * 12 + "!", "short", "é" * 12, 7, None])
def test_ids_in_no_known_form_stay_what_they_are(id_):
    assert only(document(spanId=id_)).span_id == ("" if id_ is None else str(id_).lower()) or id_


@pytest.mark.parametrize("time", ["tomorrow", "T", "", None, [], float("inf"), "9" * 5000])
def test_times_that_are_none_are_unknown(time):
    assert only(document(startTimeUnixNano=time)).start_ns == 0


@pytest.mark.parametrize(
    "value",
    [7, {}, {"resourceSpans": {}}, {"context": "x"}, {"context": {"span_id": 1}}, []],
)
def test_what_holds_no_spans_is_not_recognized(value):
    assert not is_span_document(value)
    assert list(spans_of(value)) == []
