/** holder.js SERVERS NAME [FILE]: adds the lock's token to the file, and frees it; or keeps it. */

import { appendFileSync } from 'node:fs';
import process from 'node:process';

import { connect } from '../../../js/src/lease.js';

const [servers, name, file] = process.argv.slice(2);
const lease = await connect(servers).lock(name, { ttl: 2000 });
if (file) {
  appendFileSync(file, `${lease.token}\n`);
  await lease.unlock();
}
