# Uses S3 and STS as programs do, with what a sandbox has: placeholders.
import sys
import urllib.request

import boto3
from botocore.config import Config

proxy, bundle, key_id, secret = sys.argv[1:5]


def client(service, host, **more):
    return boto3.client(
        service,
        endpoint_url="https://" + host,
        region_name="eu-central-1",
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        verify=bundle,
        config=Config(
            proxies={"https": proxy},
            retries={"max_attempts": 1},
            signature_version="s3v4" if service == "s3" else None,
            s3={"addressing_style": "path", **more},
        ),
    )


for signed in (False, True):
    s3 = client("s3", "s3.allowed.test", payload_signing_enabled=signed)
    s3.put_object(Bucket="bucket", Key="a b/ü+.txt", Body=b"x" * 100_000, Metadata={"k": "v"})
s3.put_object(Bucket="bucket", Key="sum", Body=b"y" * 70_000, ChecksumAlgorithm="SHA256")
got = s3.get_object(Bucket="bucket", Key="a b/ü+.txt", Range="bytes=2-5")["Body"].read()
assert got == b"2345", got
s3.list_objects_v2(Bucket="bucket", Prefix="a b/", Delimiter="/")
url = s3.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "a b.txt"}, ExpiresIn=300)
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({"https": proxy}),
    urllib.request.HTTPSHandler(context=__import__("ssl").create_default_context(cafile=bundle)),
)
opener.open(url).read()
client("sts", "sts.allowed.test").get_caller_identity()
print("done")
