import { createHmac } from 'node:crypto';
import { createServer, request, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Unreachable } from './errors';
import { prove, Stranger } from './proof';

const token = 'local-test.0123456789abcdef0123456789abcdef';

let servers: Server[] = [];
let asked: string[] = [];

afterEach(() => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  servers = [];
  asked = [];
});

/** Starts what answers; notes paths without their query, and what of the token it was told. */
async function start(answer: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    asked.push(`${request.url?.split('?')[0]} ${request.headers.authorization ?? ''}`.trim());
    answer(request, response);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** What backend/handshake does. */
function daemon(secret: string): RequestListener {
  return (request, response) => {
    const nonce = new URL(request.url ?? '', 'http://x').searchParams.get('nonce') ?? '';
    const at = `${request.socket.localAddress}:${request.socket.localPort}`;
    const proof = createHmac('sha256', secret).update(`${nonce} ${at}`).digest('hex');
    response.end(JSON.stringify({ status: 'ok', version: '1', proof }));
  };
}

describe('prove', () => {
  it('believes the daemon, by its address and as localhost, and tells it nothing', async () => {
    const origin = await start(daemon(token));
    await prove(origin, token);
    await prove(origin.replace('127.0.0.1', 'localhost'), token);
    expect(asked).toEqual(['/health', '/health']);
  });

  it.each<[string, RequestListener]>([
    ['knows another token', daemon('local-other.0123456789abcdef0123456789abcdef')],
    ['only says that it is well', (_, response) => response.end('{"status":"ok"}')],
    ['makes a proof up', (_, response) => response.end(`{"proof":"${'a'.repeat(64)}"}`)],
    ['answers no JSON', (_, response) => response.end('<html>')],
    ['answers null', (_, response) => response.end('null')],
    ['refuses', (_, response) => response.writeHead(404).end()],
    ['never ends', (_, response) => response.write('x'.repeat(1 << 20))],
  ])('does not believe one that %s', async (_, answer) => {
    const origin = await start(answer);
    await expect(prove(origin, token)).rejects.toThrow(Stranger);
    expect(asked).toEqual(['/health']);
  });

  it('does not believe one that passes the question on to the daemon elsewhere', async () => {
    const real = await start(daemon(token));
    const relay = await start((asking, response) => {
      request(real + asking.url, (answer) => answer.pipe(response)).end();
    });
    await expect(prove(relay, token)).rejects.toThrow(Stranger);
  });

  it('tells nobody there from somebody else', async () => {
    const origin = await start(daemon(token));
    servers[0]?.close();
    servers[0]?.closeAllConnections();
    await expect(prove(origin, token)).rejects.toThrow(Unreachable);
    const gone = await start((_, response) => response.destroy());
    await expect(prove(gone, token)).rejects.toThrow(Unreachable);
  });
});
