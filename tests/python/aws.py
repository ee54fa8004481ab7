"""An AWS of this machine: KMS, IAM and STS on one port, by moto. It checks signatures and policies as AWS does, and tokens of
AWS IAM as Amazon MSK does.

One JSON request a line on standard input, one JSON answer a line on standard output. What it keeps outlives the port, so
that it can be away and come back, or hang after so many calls.
"""

import base64
import datetime
import io
import json
import logging
import sys
import threading
import urllib.parse

import boto3
import botocore.auth
import botocore.awsrequest
import botocore.credentials
from moto import settings
from moto.backends import get_backend
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

REGION = "eu-central-1"
ACCOUNT = "123456789012"
# Where a broker asks whose a token is, and until when.
TOKENS = "/tokens/"
ANYBODY = {"aws_access_key_id": "anybody", "aws_secret_access_key": "anybody"}


class Handler(MotoRequestHandler):
    # Closes each connection: one that a client keeps would still be answered when the port is closed.
    protocol_version = "HTTP/1.0"


def whose(token):
    """The end of a token in milliseconds, and the role whose it is. Signed again by botocore, which must come to the same."""
    url = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
    parts = urllib.parse.urlsplit(url)
    asked = dict(urllib.parse.parse_qsl(parts.query, strict_parsing=True))
    key, day, region, service, kind = asked["X-Amz-Credential"].split("/")
    sessions = get_backend("sts")[ACCOUNT]["aws"].assumed_roles
    role = next(role for role in sessions if role.access_key_id == key)
    signed = [pair for pair in parts.query.split("&") if not pair.startswith(("X-Amz-Signature=", "User-Agent="))]
    request = botocore.awsrequest.AWSRequest("GET", parts._replace(query="&".join(signed)).geturl())
    request.context["timestamp"] = asked["X-Amz-Date"]
    keys = botocore.credentials.Credentials(key, role.secret_access_key, role.session_token)
    signer = botocore.auth.SigV4QueryAuth(keys, "kafka-cluster", REGION, expires=900)
    again = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    start = datetime.datetime.strptime(asked["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    end = start + datetime.timedelta(seconds=int(asked["X-Amz-Expires"]))
    expected = {
        "address": (parts.scheme, parts.netloc, parts.path) == ("https", f"kafka.{REGION}.amazonaws.com", "/"),
        "action": asked["Action"] == "kafka-cluster:Connect",
        "scope": (day, region, service, kind) == (asked["X-Amz-Date"][:8], REGION, "kafka-cluster", "aws4_request"),
        "session": asked["X-Amz-Security-Token"] == role.session_token,
        "signature": asked["X-Amz-Signature"] == again,
        "time": start <= datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=5) <= end,
    }
    if not all(expected.values()):
        raise ValueError(f"a token is not what it must be: {expected}")
    return int(end.timestamp() * 1000), f"{role.role_arn.split('/')[-1]}/{role.session_name}"


class Gate:
    """Lets calls through, all of them or as many as it is told to; counts them."""

    def __init__(self, app):
        self.app = app
        self.changed = threading.Condition()
        self.signed_in = []
        # What nobody but the agent may see, by name.
        self.secrets = []
        self.calls = 0
        self.lets_through = None

    def set(self, lets_through):
        with self.changed:
            self.calls = 0
            self.lets_through = lets_through
            self.changed.notify_all()

    def token(self, token, start_response):
        try:
            end, who = whose(token)
        except Exception as error:
            print(f"token refused: {type(error).__name__}: {error}", file=sys.stderr)
            start_response("403 Forbidden", [])
            return []
        self.signed_in.append(who)
        self.secrets.append(("token", token))
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [f"{end} {who}".encode()]

    def __call__(self, environ, start_response):
        if environ["PATH_INFO"].startswith(TOKENS):
            return self.token(environ["PATH_INFO"][len(TOKENS) :], start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        if environ.get("HTTP_X_AMZ_TARGET") == "TrentService.Encrypt":
            self.secrets.append(("data key", json.loads(body)["Plaintext"]))
        with self.changed:
            self.calls += 1
            number = self.calls
            self.changed.wait_for(lambda: self.lets_through is None or number <= self.lets_through)
        return self.app(environ, start_response)


class Aws:
    def __init__(self):
        self.gate = Gate(DomainDispatcherApplication(create_backend_app))
        self.port = 0
        self.server = None
        self.listen()
        made = self.user("admin", [{"Effect": "Allow", "Action": "*", "Resource": "*"}], ANYBODY)
        self.admin = {"aws_access_key_id": made["access_key_id"], "aws_secret_access_key": made["secret_access_key"]}
        # From here on each call must be signed and allowed.
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0

    def listen(self):
        self.server = make_server("127.0.0.1", self.port, self.gate, threaded=True, request_handler=Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def leave(self):
        self.server.shutdown()
        self.server.server_close()

    def client(self, service, who=None):
        endpoint = f"http://127.0.0.1:{self.port}"
        return boto3.client(service, endpoint_url=endpoint, region_name=REGION, **(who or self.admin))

    def user(self, name, statements, by=None):
        iam = self.client("iam", by)
        iam.create_user(UserName=name)
        self.allow(name, statements, by)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {"access_key_id": key["AccessKeyId"], "secret_access_key": key["SecretAccessKey"]}

    def allow(self, name, statements, by=None):
        document = json.dumps({"Version": "2012-10-17", "Statement": statements})
        self.client("iam", by).put_user_policy(UserName=name, PolicyName="all", PolicyDocument=document)

    def role(self, name, external_id):
        trust = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        if external_id is not None:
            trust["Condition"] = {"StringEquals": {"sts:ExternalId": external_id}}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        return self.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=document)["Role"]["Arn"]

    def key(self):
        return self.client("kms").create_key()["KeyMetadata"]["Arn"]

    def answer(self, request):
        action = request["action"]
        if action == "endpoint":
            return f"http://127.0.0.1:{self.port}"
        if action == "listen":
            return self.listen()
        if action == "leave":
            return self.leave()
        if action == "hang":
            return self.gate.set(request["after"])
        if action == "calls":
            return self.gate.calls
        if action == "signed_in":
            return self.gate.signed_in
        if action == "secrets":
            sessions = get_backend("sts")[ACCOUNT]["aws"].assumed_roles
            keys = [("secret access key", role.secret_access_key) for role in sessions]
            return self.gate.secrets + keys + [("session token", role.session_token) for role in sessions]
        if action == "user":
            return self.user(request["name"], request["statements"])
        if action == "allow":
            return self.allow(request["name"], request["statements"])
        if action == "role":
            return self.role(request["name"], request["external_id"])
        if action == "key":
            return self.key()
        raise ValueError(f"no action {action}")


def main():
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # What moto prints must not be taken for an answer.
    answers, sys.stdout = sys.stdout, sys.stderr
    aws = Aws()
    for line in sys.stdin:
        try:
            answer = {"ok": aws.answer(json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
