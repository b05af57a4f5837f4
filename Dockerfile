# The image of Sluice: built from a clone, without sources, runs as an unprivileged user on a read-only root file system.
#
#   docker build -t sluice .
#   docker run --read-only --cap-drop ALL --security-opt no-new-privileges \
#     -e SLUICE_AUTH=none -p 127.0.0.1:8080:8080 -v sluice:/srv/data sluice
#
# See docs/operating.md. To pin the base image, pass its digest: --build-arg NODE_IMAGE=node@sha256:…
ARG NODE_IMAGE=node:22-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /opt/sluice
COPY . .
# No package needs an install script. All packages are built; the image keeps only what the server runs: its
# dependencies, its build, and the web application.
RUN npm ci --ignore-scripts && npm run build \
  && rm -rf node_modules && npm ci --ignore-scripts --omit=dev --workspace=@sluice/server \
  && rm -rf packages/*/src packages/*/tsconfig*.json

FROM ${NODE_IMAGE}
COPY --from=build /opt/sluice/LICENSE /opt/sluice/package.json /opt/sluice/
COPY --from=build /opt/sluice/node_modules /opt/sluice/node_modules
COPY --from=build /opt/sluice/packages /opt/sluice/packages
RUN ln -s /opt/sluice/packages/server/bin/sluice.js /usr/local/bin/sluice \
  && mkdir -p /srv/data && chown node:node /srv/data

# Listening beyond loopback requires an explicit choice: SLUICE_AUTH=none, or SLUICE_KEYS=FILE. Without one the service
# reports that and exits.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080
# The maximum heap of the main thread in megabytes. docs/operating.md explains how it follows from the limits.
ENV NODE_OPTIONS=--max-old-space-size=1024
# Commands keep their data in ./data.
WORKDIR /srv
VOLUME /srv/data
EXPOSE 8080
USER node
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${Number(process.env.PORT) + 1}/health`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["sluice"]
CMD ["demo"]
