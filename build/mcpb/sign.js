// Signs an extension: node sign.js FILE CERTIFICATE KEY [INTERMEDIATE…], all of them PEM files but
// the first.
//
// The official signature is appended to the archive, which must declare what follows its end as its
// comment: Claude Desktop refuses it otherwise (modelcontextprotocol/mcpb#278). The tool does not
// do so, and later it would change what was signed. So a first signature tells how long it is.
import { readFileSync, writeFileSync } from 'node:fs';
import { signMcpbFile } from '@anthropic-ai/mcpb/node';

const [file, certificate, key, ...intermediates] = process.argv.slice(2);
const unsigned = readFileSync(file);
const end = unsigned.lastIndexOf('PK\x05\x06'); // the record that ends an archive
const commentLength = end + 20;

function sign(archive) {
  writeFileSync(file, archive);
  signMcpbFile(file, certificate, key, intermediates);
  return readFileSync(file).length - archive.length;
}

const length = sign(unsigned);
unsigned.writeUInt16LE(length, commentLength);
if (end < 0 || sign(unsigned) !== length) throw new Error(`The signature of ${file} is not as long as the one before.`);
