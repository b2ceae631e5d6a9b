# docker build -t srs .
# docker run --rm -p 1935:1935 -p 1985:1985 -p 8080:8080 -p 8000:8000/udp -p 8000:8000/tcp --env CANDIDATE=192.168.1.10 srs
#
# Directories, ports and command are those of SRS's image; see doc/packages.md. COMMIT is what `srs --version` says.

FROM debian:bookworm AS build
ARG COMMIT=unknown
ARG JOBS=2
RUN apt-get update && apt-get install -y --no-install-recommends \
        g++ make lld libst-dev libssl-dev libhttp-parser-dev libnghttp2-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev \
        libc-ares-dev zlib1g-dev libsrtp2-dev libhiredis-dev libavcodec-dev libavutil-dev libswresample-dev libswscale-dev \
        ca-certificates npm $(dpkg --print-architecture | sed -n s/amd64/libipsec-mb-dev/p)
WORKDIR /srs
COPY . .
# make does without the web pages where npm fails; make console does not.
RUN ./configure && make -j$JOBS BUILD_COMMIT=$COMMIT && make console
RUN make install DESTDIR=/installed BUILD_COMMIT=$COMMIT && strip /installed/usr/local/srs/objs/srs

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends \
        libst1 libssl3 libhttp-parser2.9 libnghttp2-14 libspdlog1.10-fmt9 libfmt9 libc-ares2 zlib1g libsrtp2-1 libstdc++6 \
        libhiredis0.14 libavcodec59 libavutil57 libswresample4 libswscale6 ca-certificates \
        $(dpkg --print-architecture | sed -n s/amd64/libipsec-mb1/p) \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/usr/local/srs /usr/local/srs
COPY packaging/healthcheck /usr/local/srs/etc/healthcheck
WORKDIR /usr/local/srs
# RTMP, API, HTTP, WebRTC by UDP and TCP, SRT
EXPOSE 1935 1985 8080 8000/udp 8000/tcp 10080/udp
ENV CANDIDATE=*
# Where no container is detected, as in Kubernetes, a file with `daemon on` would end the container at once.
ENV SRS_DAEMON=off
ENV SRS_IN_DOCKER=on
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/usr/local/srs/etc/healthcheck"]
CMD ["./objs/srs", "-c", "conf/docker.conf"]
