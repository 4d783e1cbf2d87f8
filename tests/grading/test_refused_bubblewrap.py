"""Test that `doctor` and `grade` say which setting refuses bubblewrap, and how to change the setting."""

from __future__ import annotations

import subprocess

import pytest

from utils.cli.doctor import collect_findings
from utils.grading.judge import bubblewrap

ERROR = "bwrap: setting up uid map: Permission denied"
SETTINGS = {
    "AppArmor": ({"kernel/apparmor_restrict_unprivileged_userns": "1"}, str(bubblewrap.APPARMOR_PROFILE)),
    "Debian's switch": ({"kernel/unprivileged_userns_clone": "0"}, "sysctl kernel.unprivileged_userns_clone=1"),
    "no namespaces": ({"user/max_user_namespaces": "0"}, "sysctl user.max_user_namespaces=15000"),
    "a pod": ({"user/max_user_namespaces": "63000"}, "seccompProfile"),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_setting_that_refuses_bubblewrap_is_named_with_its_cure(monkeypatch, name):
    settings, cure = SETTINGS[name]
    refused = subprocess.CompletedProcess([], 1, "", ERROR)
    monkeypatch.setattr(bubblewrap.subprocess, "run", lambda *_, **__: refused)
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "tools/bwrap")
    monkeypatch.setattr(bubblewrap, "_read_setting", lambda name: settings.get(name, ""))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    why = bubblewrap.isolation_problem()
    assert why and ERROR in why and cure in why and ("tools/bwrap" in why) == (name == "AppArmor")
    (finding,) = [finding for finding in collect_findings() if finding.subject == "sandbox"]
    assert finding.remedy == why


def test_the_profile_is_for_the_program_that_the_command_replaces():
    profile = bubblewrap.APPARMOR_PROFILE.read_text(encoding="utf-8")
    assert profile.count("/usr/bin/bwrap") == 1 and "userns," in profile
