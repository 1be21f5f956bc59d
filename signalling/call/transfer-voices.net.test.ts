import t from 'tap'
import { scenarios } from '../../fixtures/rigs/transfer-voices.js'

/* The sounds that each party hears in three transfers over real RTP; transfer-voices.long.test.ts has all of them. */

for (const [name, scenario] of Object.entries(scenarios)) {
  t.test(name, { timeout: 120_000 }, (t) => scenario(t, { caller: 'PCMA', person: 'PCMU' }))
}
