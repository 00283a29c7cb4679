"""Checks a SCIM service by scim2-tester. Arguments: address, token. Prints the results as JSON."""

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import check_server

address, token = sys.argv[1:]
client = Client(base_url=address, headers={"Authorization": f"Bearer {token}"}, timeout=60)
results = check_server(SyncSCIMClient(client))
json.dump(
    [{"status": each.status.name, "title": each.title, "type": each.resource_type, "reason": each.reason} for each in results],
    sys.stdout,
)
