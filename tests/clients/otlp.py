"""Reads requests of OTLP in a folder with the messages of the package opentelemetry-proto, and prints what is in them."""

import json
import pathlib
import sys

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def read(kind, request):
    """A request, which must hold no field that the messages do not have."""
    message = request()
    message.ParseFromString(kind.read_bytes())
    # Unknown fields survive a round trip, but are not in the text; what is in the text is known.
    known = request()
    from google.protobuf import text_format

    text_format.Parse(text_format.MessageToString(message), known)
    assert known.SerializeToString(deterministic=True) == message.SerializeToString(deterministic=True), kind
    return message


seen = {"traces": [], "metrics": [], "logs": []}
for file in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    match file.suffix:
        case ".traces":
            for resource in read(file, ExportTraceServiceRequest).resource_spans:
                assert any(pair.key == "service.name" for pair in resource.resource.attributes)
                for span in resource.scope_spans[0].spans:
                    assert len(span.trace_id) == 16 and len(span.span_id) == 8
                    assert span.end_time_unix_nano >= span.start_time_unix_nano > 0 and span.flags & 1
                    assert all(pair.value.WhichOneof("value") for pair in span.attributes)
                    seen["traces"].append(f"{span.span_id.hex()} {span.name}")
        case ".metrics":
            for resource in read(file, ExportMetricsServiceRequest).resource_metrics:
                for metric in resource.scope_metrics[0].metrics:
                    data = getattr(metric, metric.WhichOneof("data"))
                    assert all(point.WhichOneof("value") and point.time_unix_nano for point in data.data_points)
                    seen["metrics"].append(metric.name)
        case ".logs":
            for resource in read(file, ExportLogsServiceRequest).resource_logs:
                for line in resource.scope_logs[0].log_records:
                    assert line.severity_number > 0 and line.time_unix_nano > 0
                    seen["logs"].append(line.body.string_value)
print(json.dumps(seen))
