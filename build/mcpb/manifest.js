// Prints the extension's manifest for one system: node manifest.js linux|darwin|windows VERSION
import { readFileSync } from 'node:fs';

const [system, version] = process.argv.slice(2);
const unix = {
  entry_point: 'server/start.sh',
  mcp_config: { command: '/bin/sh', args: ['${__dirname}/server/start.sh'], env: {} },
};
const windows = {
  entry_point: 'server/forevervm-extension.exe',
  mcp_config: { command: '${__dirname}/server/forevervm-extension.exe', args: [], env: {} },
};
const manifest = JSON.parse(readFileSync(new URL('manifest.json', import.meta.url), 'utf8'));
manifest.version = version;
manifest.server = { type: 'binary', ...(system === 'windows' ? windows : unix) };
manifest.compatibility = { platforms: [system === 'windows' ? 'win32' : system] };
console.log(JSON.stringify(manifest, null, 2));
