/** nginx of Debian as a reverse proxy that reads nothing; see README.md. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../processes.ts'
import { install, type Peer, peerFolder, startPeer } from './peer.ts'

const configText = (upstream: number, port: number, folder: string): string => `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log error;
events { worker_connections 4096; multi_accept on; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join(' ')}
  client_max_body_size 64m;
  client_body_buffer_size 1m;
  keepalive_requests 1000000000;
  keepalive_timeout 75s;
  tcp_nodelay on;
  upstream mock { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location / {
      proxy_pass http://mock;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`

export const nginx: Peer = {
  targets: ['nginx'],
  install() {
    const { folder, remove } = peerFolder('nginx')
    install('apt-get', ['download', 'nginx'], folder)
    const [archive = ''] = readdirSync(folder).filter((name) => name.endsWith('.deb'))
    install('dpkg-deb', ['-x', archive, 'root'], folder)
    const command = join(folder, 'root', 'usr', 'sbin', 'nginx')
    return {
      version: decodeURIComponent(archive.split('_')[1] ?? ''),
      remove,
      async start(name, upstream) {
        const port = await freePort()
        const file = join(folder, 'nginx.conf')
        writeFileSync(file, configText(upstream, port, folder))
        return startPeer({ name, command, args: ['-p', folder, '-e', join(folder, 'error.log'), '-c', file], folder, port, path: '/' })
      },
    }
  },
}
