import t from 'tap'
import { more, scenarios } from '../../fixtures/rigs/transfer-voices.js'

/* The sounds that each party hears at each moment of a transfer over real RTP, and the content of the recordings. */

const CODECS = ['PCMA', 'PCMU'] as const

for (const caller of CODECS) {
  for (const person of CODECS) {
    for (const [name, scenario] of Object.entries(scenarios)) {
      t.test(`${name} (${caller}, ${person})`, { timeout: 120_000 }, (t) => scenario(t, { caller, person }))
    }
  }
}
for (const [name, scenario] of Object.entries(scenarios)) {
  t.test(`${name}, with re-INVITEs of the caller all the time`, { timeout: 120_000 }, (t) =>
    scenario(t, { caller: 'PCMA', person: 'PCMU', reinvitesMs: 730 }),
  )
}
for (const [name, scenario] of Object.entries(more)) {
  t.test(name, { timeout: 180_000 }, (t) => scenario(t, { caller: 'PCMA', person: 'PCMU' }))
}
