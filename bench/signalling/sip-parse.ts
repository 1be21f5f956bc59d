import { performance } from 'node:perf_hooks'
import { DEFAULT_LIMITS } from '../../signalling/embedded/limits.js'
import { validateMessage } from '../../signalling/embedded/message/message-validation.js'
import { parseSip } from '../../signalling/embedded/message/sip-parser.js'
import { figure, type Measured } from '../lib/figures.js'
import { percentile } from '../lib/statistics.js'

const ROUNDS = 15
const PER_ROUND = 20_000

const BODY = [
  'v=0',
  'o=carrier 3904871 3904871 IN IP4 203.0.113.20',
  's=-',
  'c=IN IP4 203.0.113.20',
  't=0 0',
  'm=audio 24680 RTP/AVP 8 0 101',
  'a=rtpmap:8 PCMA/8000',
  'a=rtpmap:0 PCMU/8000',
  'a=rtpmap:101 telephone-event/8000',
  'a=fmtp:101 0-15',
  'a=ptime:20',
  'a=sendrecv',
  '',
].join('\r\n')

/** Builds an INVITE as carriers send them; each differs a little, so that nothing can be cached. */
function invite(number: number): Buffer {
  return Buffer.from(
    [
      `INVITE sip:+9122${10_000_000 + number}@198.51.100.7:5060;user=phone SIP/2.0`,
      `Via: SIP/2.0/UDP 203.0.113.20:5060;branch=z9hG4bK0cB${number}x7f;rport`,
      'Record-Route: <sip:203.0.113.19;lr;ftag=gK0c>',
      'Max-Forwards: 67',
      `From: "Asha Rao" <sip:+919812345678@203.0.113.20;user=phone>;tag=gK0c${number}`,
      `To: <sip:+9122${10_000_000 + number}@198.51.100.7;user=phone>`,
      `Call-ID: ${number}-3904871@203.0.113.20`,
      `CSeq: ${number} INVITE`,
      'Contact: <sip:+919812345678@203.0.113.20:5060>',
      'Allow: INVITE,ACK,CANCEL,BYE,PRACK,UPDATE,INFO,OPTIONS',
      'Supported: timer,100rel,replaces',
      'Session-Expires: 1800;refresher=uac',
      'Min-SE: 90',
      'P-Asserted-Identity: <sip:+919812345678@203.0.113.20;user=phone>',
      'User-Agent: Carrier SBC 9.2',
      'Content-Type: application/sdp',
      `Content-Length: ${BODY.length}`,
      '',
      BODY,
    ].join('\r\n'),
  )
}

/** S_parse: measures INVITEs per second parsed from bytes and fully checked, on this core. */
export async function measureSipParsing(): Promise<Measured[]> {
  const messages = Array.from({ length: PER_ROUND }, (_, number) => invite(number + 1))
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const begin = performance.now()
    for (const bytes of messages) {
      const parsed = parseSip(bytes, DEFAULT_LIMITS)
      if (!parsed.ok || !validateMessage(parsed.message).ok) throw new Error('a good INVITE was refused')
    }
    rates.push(Math.round((messages.length * 1000) / (performance.now() - begin)))
  }
  // The first rounds warm up the JIT compiler.
  const warm = rates.slice(5)
  const context = { bytes: messages[0]?.length, rates: warm }
  return [figure('S_parse', { n: warm.length * PER_ROUND, value: percentile(warm, 0.5) }, context)]
}
