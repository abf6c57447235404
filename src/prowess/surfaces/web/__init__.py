"""The web app: a chat that shows what its skills do, a place to look after skills, and an HTTP interface to both.

`serving` starts it, `app` puts it together, `guards` stand before every request, `api` answers programs and the pages'
own modules, `pages` answers people, `conversations` keeps what goes on in this process, `scene` is a conversation as a
person sees it, and `telemetry` is for whoever runs it. Nobody imports it but the command `serve`.
"""
