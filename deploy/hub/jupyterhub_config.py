"""JupyterHub on one machine. docs/hub.md explains how to start it.

Each learner is a user of this system and logs in with the system's password. An administrator of the hub can add users
and open the server of each learner.
"""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
IDLE_SECONDS = 3600  # A server without activity stops after this time. Its files stay.

c = get_config()  # noqa: F821, JupyterHub defines this function

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # A web server with TLS must forward requests to this address.
c.Authenticator.allow_all = True  # Every user of this system may log in.
c.LocalAuthenticator.create_system_users = True

c.Spawner.cmd = [str(HERE / "start-server")]
c.Spawner.default_url = "/lab"
c.Spawner.environment = {"GIT_TERMINAL_PROMPT": "0"}  # A pull never waits for a password.

c.JupyterHub.load_roles = [
    {
        "name": "cull-idle-servers",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["cull-idle-servers"],
    }
]
c.JupyterHub.services = [
    {
        "name": "cull-idle-servers",
        "command": [sys.executable, "-m", "jupyterhub_idle_culler", f"--timeout={IDLE_SECONDS}"],
    }
]
