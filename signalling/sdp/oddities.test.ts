import t from 'tap'
import { oddities } from '../../fixtures/oddities/cases.js'
import type { SrtpPolicy } from './sdp-crypto.js'
import { parseSdp } from './sdp-parser.js'
import { SdpSession } from './sdp-session.js'

interface Right {
  readonly ok: boolean
  readonly sip?: number
  readonly remote?: object
  /** The m-lines of our answer. */
  readonly sdp?: readonly string[]
}

for (const { name, about, fields, text } of oddities('sdp')) {
  t.test(`${name}: ${about}`, async (t) => {
    const { sdp, ...right } = JSON.parse(fields.get('right') ?? '') as Right
    const session = new SdpSession(
      { address: '127.0.0.1', port: 40_000 },
      ['PCMA', 'PCMU'],
      '42',
      (fields.get('srtp') as SrtpPolicy | undefined) ?? 'off',
    )
    session.peer = fields.get('peer') ?? null
    const role = fields.get('role')
    if (role === 'answer') session.offer()
    if (role === 'answer') {
      t.match(session.accept(text), right)
    } else {
      const result = session.answer(text)
      t.match(result, right)
      const written = result.ok ? result.sdp : ''
      const mediaLines = written.split('\r\n').filter((line) => line.startsWith('m='))
      if (sdp !== undefined) t.strictSame(mediaLines, sdp, 'what is sent is strict')
      t.equal(parseSdp(written).ok, right.ok)
    }
    t.equal(session.current !== null, right.ok)
  })
}
