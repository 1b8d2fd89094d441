"""``/``, ``/training`` and signing in; everything a page is made of comes from this host."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from driftline.drift.sentences import sentence
from driftline.metadata.errors import InputError

from ..alerts.alert import Text
from ..evaluation.words import estimate_words, harm_words, latency_words
from ..model.watched import Watched
from ..pages.assets import FOLDER, asset, plotly_styles, version
from ..pages.pictures import pictures
from ..pages.words import LANGUAGES, Language, words
from ..secret import Secret
from .context import reply, tagged
from .drift import standing
from .sign_in import from_here, sign_in, sign_out, signed_in

LANGUAGE_COOKIE = "driftline_language"
YEAR = 365 * 86_400
_OPEN = frozenset({"pages.sign_in_form", "pages.sign_in", "pages.state", "pages.static"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def blueprint(token: Secret | None, engine: Watched | None) -> Blueprint:
    """The pages of a service, or without an `engine` of a board: that has no drift."""
    routes = Blueprint("pages", __name__, template_folder=str(FOLDER.with_name("templates")))

    @routes.before_request
    def ask() -> AnyResponse | None:
        if token is None or request.endpoint in _OPEN or _admitted(token):
            return None
        return redirect(url_for("pages.sign_in_form", next=request.full_path.rstrip("?")))

    @routes.after_request
    def careful(response: Response) -> Response:
        response.headers.setdefault("Content-Security-Policy", POLICY)
        # A form would say its origin is "null" under the policy of the other routes.
        response.headers["Referrer-Policy"] = "same-origin"
        return response

    @routes.get("/")
    def drift() -> AnyResponse:
        if engine is None:
            return redirect(url_for("pages.training"))
        return _page("drift", token, engine, facts=engine.metadata)

    @routes.get("/training")
    def training() -> AnyResponse:
        return _page("training", token, engine)

    @routes.get("/sign-in")
    def sign_in_form() -> AnyResponse:
        if token is None or signed_in(token):
            return redirect(_next())
        return _page("sign_in", token, engine, next=_next(), wrong=False)

    @routes.post("/sign-in", endpoint="sign_in")
    def signing_in() -> AnyResponse:
        if token is None:
            return redirect(_next())
        if not from_here():
            abort(400, "Sign in from the page of this service.")
        if not token.matches(request.form.get("token", "").strip()):
            refused = _page("sign_in", token, engine, next=_next(), wrong=True)
            refused.status_code = 401
            return refused
        return sign_in(_as_flask(redirect(_next())), token)

    @routes.get("/sign-in/state")
    def state() -> Response:
        return reply({"signed_in": token is None or signed_in(token)})

    @routes.post("/sign-out")
    def signing_out() -> AnyResponse:
        leaving = _as_flask(redirect(url_for("pages.sign_in_form")))
        return leaving if token is None else sign_out(leaving, token)

    @routes.get("/static/<asked>/<name>")
    def static(asked: str, name: str) -> Response:
        accepted = request.accept_encodings.quality("gzip") > 0
        packed = accepted and name.endswith((".js", ".css", ".svg"))
        found = asset(name, packed=packed)
        if found is None:
            abort(404)
        response = Response(found[0], content_type=found[1])
        if packed:
            response.headers["Content-Encoding"] = "gzip"
        response.headers["Vary"] = "Accept-Encoding"
        lasting = f"public, max-age={YEAR}, immutable"
        response.headers["Cache-Control"] = lasting if asked == version() else "no-cache"
        return response

    if engine is not None:
        _of_service(routes, engine)
    return routes


def _of_service(routes: Blueprint, engine: Watched) -> None:
    """What the drift page asks for beyond `/drift`."""

    @routes.get("/drift/pictures")
    def all_pictures() -> Response:
        """Small pictures of every signal."""
        plan = engine.monitor.plan
        return tagged(pictures(engine.metadata, plan.series, engine.monitor.session.store))

    @routes.get("/drift/sentences")
    def sentences() -> Response:
        """What `/drift` says, in the language ``lang``."""
        lang = request.args.get("lang", "en")
        if lang not in LANGUAGES:
            raise InputError("lang", f"is one of {', '.join(LANGUAGES)}")
        found, _ = standing(engine)
        if found is None:
            return reply({"sentence": None, "signals": {}, "limits": []})
        verdict, width = found.verdict, found.width
        return tagged(
            {
                "sentence": sentence(verdict, lang, width),
                "signals": {each.name: sentence(each, lang, width) for each in verdict.signals},
                "limits": [sentence(each, lang, width) for each in verdict.breaches],
                "latency": getattr(latency_words(found.performance.latency), lang),
                "estimated": _said(estimate_words, found.performance.estimate, lang),
                "labelled": _said(harm_words, found.performance.harm, lang),
            }
        )


def _said(words: Callable[[Any], Text], found: object | None, lang: Language) -> str | None:
    return None if found is None else str(getattr(words(found), lang))


def _page(name: str, token: Secret | None, engine: Watched | None, **more: Any) -> Response:
    lang = _language()
    texts = words(name, lang)
    content = render_template(
        f"{name}.html",
        page=name,
        lang=lang,
        other="zh" if lang == "en" else "en",
        t=texts,
        version=version(),
        has_drift=engine is not None,
        has_token=token is not None,
        here=request.path,
        plotly_styles=plotly_styles(),
        **more,
    )
    response = Response(content, content_type="text/html; charset=utf-8")
    response.headers["Cache-Control"] = "no-store"
    response.headers["Vary"] = "Cookie, Accept-Language"
    if request.args.get("lang") in LANGUAGES:
        response.set_cookie(LANGUAGE_COOKIE, lang, max_age=YEAR, samesite="Lax")
    return response


def _language() -> Language:
    """What the address says, or was said before, or the browser prefers."""
    for said in (request.args.get("lang"), request.cookies.get(LANGUAGE_COOKIE)):
        for known in LANGUAGES:
            if said == known:
                return known
    prefers = request.accept_languages.best_match(["en", "zh", "zh-CN", "zh-Hans"], "en")
    return "zh" if prefers.startswith("zh") else "en"


def _next() -> str:
    """Where to go after signing in: an address of this service, and no other."""
    wanted = request.values.get("next", "")
    return wanted if re.fullmatch(r"/(?![/\\])[\x20-\x7e]*", wanted) else url_for("pages.training")


def _admitted(token: Secret) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    bears = scheme.lower() == "bearer" and token.matches(given.strip())
    return bears or signed_in(token)


def _as_flask(response: AnyResponse) -> Response:
    assert isinstance(response, Response)
    return response
