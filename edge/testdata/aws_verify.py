# Computes the signature that a request should have, one JSON line each, with
# the signer of botocore.
import json
import sys

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

for line in sys.stdin:
    q = json.loads(line)
    kind = S3SigV4Auth if q["service"] == "s3" else SigV4Auth
    auth = kind(Credentials(q["key_id"], q["secret"]), q["service"], q["region"])
    auth.payload = lambda request: q["payload"]
    request = AWSRequest(method=q["method"], url=q["url"], headers=q["headers"])
    request.context["timestamp"] = q["date"]
    text = auth.string_to_sign(request, auth.canonical_request(request))
    print(auth.signature(text, request), flush=True)
