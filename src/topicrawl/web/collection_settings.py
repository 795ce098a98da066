"""Handlers of the settings page of a collection: topic, limits, scope, name, and removal."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from topicrawl.collection.directory import load_crawl_topic
from topicrawl.errors import CollectionError, UsageError
from topicrawl.settings import Settings
from topicrawl.web import crawl_figures
from topicrawl.web.collection_editing import (
    edit_collection,
    format_words,
    get_topic_changes,
    remove_collection,
    rename_collection,
)
from topicrawl.web.collections import OpenCollection
from topicrawl.web.new_crawls import NUMBER_FIELDS, SCOPE_FIELDS
from topicrawl.web.site import RequestForm, Site, get_collection_path, page_endpoint, redirect_to

_TOPIC_FIELDS = ("topic_name", "words", "exclude_words", "threshold")
_MAX_DELAY = 86_400.0
_DEFAULT_DEPTH = Settings().depth  # there is no crawl without a limit of the depth


@page_endpoint
def show_settings(site: Site, request: Request, form: RequestForm) -> Response:
    """Show the topic and settings of a collection as a form; `saved` acknowledges a change."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        return _render_settings(site, opened, _describe_settings(opened), saved=bool(form.get_text("saved")))


def _render_settings(
    site: Site, opened: OpenCollection, values: dict[str, str], *, message: str = "", saved: bool = False
) -> Response:
    return site.render_page(
        "settings.html",
        code=400 if message else 200,
        it=crawl_figures.get_figures(opened),
        given=values,
        trouble=message,
        saved=saved,
        others=crawl_figures.list_settings(opened),
    )


def _describe_settings(opened: OpenCollection) -> dict[str, str]:
    """Return the values of the form."""
    settings, topic = crawl_figures.load_settings(opened), opened.topic
    values = {
        "topic_name": topic.name,
        "words": format_words(topic.words),
        "exclude_words": " ".join(topic.exclude),
        "threshold": f"{topic.threshold:g}",
        "delay": f"{settings.delay:g}",
        "minutes": f"{settings.seconds / 60:g}",
    }
    values |= {name: str(getattr(settings, name)) for name in NUMBER_FIELDS}
    return values | {name: "\n".join(getattr(settings, name)) for name in SCOPE_FIELDS}


@page_endpoint
def save_settings(site: Site, request: Request, form: RequestForm) -> Response:
    """Store a changed topic and changed settings. If the input is invalid, show it again with the error."""
    name = request.path_params["name"]
    try:
        topic = load_crawl_topic(site.collections.get_directory(name))
        texts = [form.get_text(field, max_length=20_000) for field in _TOPIC_FIELDS]
        changes = get_topic_changes(topic, name=texts[0], words=texts[1], exclude=texts[2], threshold=texts[3])
        edit_collection(site, name, changes, _parse_settings(form))
    except (UsageError, CollectionError) as error:
        with site.collections.open_readonly(name) as opened:
            values = {field: form.get_text(field, max_length=20_000) for field in _describe_settings(opened)}
            return _render_settings(site, opened, values, message=str(error))
    return redirect_to(f"{get_collection_path(name)}/settings", saved=1)


def _parse_settings(form: RequestForm) -> dict[str, Any]:
    """Return the settings in the form. An empty field of the scope or of a limit removes it."""
    settings: dict[str, Any] = {
        name: form.get_integer(name, _DEFAULT_DEPTH if name == "depth" else 0, maximum=most)
        for name, most in NUMBER_FIELDS.items()
    }
    settings["seconds"] = 60 * _parse_number(form, "minutes", 1e6)
    settings["delay"] = _parse_number(form, "delay", _MAX_DELAY)
    return settings | {name: tuple(form.get_text(name, max_length=10_000).split()) for name in SCOPE_FIELDS}


def _parse_number(form: RequestForm, name: str, maximum: float) -> float:
    text = form.get_text(name, max_length=20) or "0"
    try:
        value = float(text)
    except ValueError as error:
        raise UsageError(f"{name} must be a number, not {text!r}") from error
    if not 0 <= value <= maximum:
        raise UsageError(f"{name} must be from 0 to {maximum:g}, not {text}")
    return value


@page_endpoint
def rename(site: Site, request: Request, form: RequestForm) -> Response:
    """Rename a collection and lead to it under its new name."""
    new_name = form.get_text("new_name", max_length=200)
    rename_collection(site, request.path_params["name"], new_name)
    return redirect_to(f"{get_collection_path(new_name)}/settings", saved=1)


@page_endpoint
def confirm_removal(site: Site, request: Request, form: RequestForm) -> Response:
    """Ask a second time before a collection is removed: the user enters its name."""
    with site.collections.open_readonly(request.path_params["name"]) as opened:
        figures = crawl_figures.get_figures(opened)
        return site.render_page("remove.html", it=figures, size=crawl_figures.measure_size(opened.directory))


@page_endpoint
def remove(site: Site, request: Request, form: RequestForm) -> Response:
    """Remove a collection if the user has entered its name."""
    name = request.path_params["name"]
    if form.get_text("confirmed_name", max_length=200) != name:
        raise UsageError(f"nothing was removed: enter the name {name!r} to confirm the removal")
    remove_collection(site, name)
    return redirect_to("/", removed=name)
