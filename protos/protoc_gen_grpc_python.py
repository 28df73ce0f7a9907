"""A protoc plugin that makes the gRPC code of Python: grpcio-tools has it within its protoc alone."""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc

request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
services = [file.name for file in request.proto_file if file.service and file.name in request.file_to_generate]
response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
with tempfile.TemporaryDirectory() as folder:
    known, made = Path(folder, "known.binpb"), Path(folder, "made")
    known.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
    made.mkdir()
    if services and protoc.main(["", f"--descriptor_set_in={known}", f"--grpc_python_out={made}", *services]):
        response.error = "protoc failed"
    for path in made.rglob("*.py"):
        response.file.add(name=path.relative_to(made).as_posix(), content=path.read_text("utf-8"))
sys.stdout.buffer.write(response.SerializeToString())
