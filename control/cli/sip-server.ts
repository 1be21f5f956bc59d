import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { DEFAULT_GUARD } from '../../signalling/embedded/guard/guard.js'
import { openDns } from '../../signalling/embedded/routing/dns.js'
import {
  type EmbeddedServer,
  type EmbeddedServerSettings,
  openEmbeddedServer,
} from '../../signalling/embedded/server.js'
import { integer, networks, sipAddresses } from '../config/parsers.js'
import { readTls } from '../config/tls-files.js'
import { openLog } from '../observe/log.js'
import { oneOf, parseOptions, Signals, UsageError } from './options.js'

/** RFC 3261 17: T2 and T4 as multiples of T1. */
const T2_FACTOR = 8
const T4_FACTOR = 10

export const SIP_SERVER_HELP = `parley sip-server --secret SECRET [options]

    Runs the SIP server alone, for any drachtio-srf application: it speaks the application protocol of
    drachtio-server. Prints one line when it is ready and logs to standard error. On SIGTERM or SIGINT
    it answers new calls with 503 and exits when live calls have ended; a second signal ends it at once.

    --listen TRANSPORT:ADDRESS:PORT   SIP addresses, repeated or comma-separated; udp, tcp, tls, ws or
                                      wss; IPv6 in brackets; port 0 binds any free port
                                      [udp:127.0.0.1:5060,tcp:127.0.0.1:5060]
    --control ADDRESS:PORT            loopback address for applications [127.0.0.1:9022]
    --secret SECRET                   shared secret of applications; or
    --secret-file FILE                a file that contains it, which keeps it out of the process list
    --advertise ADDRESS               address in Via and Contact, for a server behind a NAT
    --local-network ADDRESS/BITS      network behind the same NAT: its peers see the real address
    --tls-cert FILE --tls-key FILE    PEM files with the certificate chain and the key for tls and wss
    --tls-ca FILE                     authorities to trust instead of the system's
    --tls-require-client-cert         require client certificates of those authorities
    --tls-accept-any-server           connect to servers whose certificate cannot be verified
    --dns ADDRESS[:PORT]              DNS server to use instead of the system's; may be repeated
    --session-refresher none|uac|uas  session refresher when the caller names none [uac]
    --no-nat                          trust the addresses that peers write instead of their source address
    --exempt ADDRESS/BITS             peers that are never limited or banned, besides loopback; may be
                                      repeated
    --t1 MS                           T1, the base of all timers of RFC 3261 [500]
    --drain SECONDS                   time that live calls may continue after a signal [60]
    --log-level LEVEL                 debug, info, warn, error or silent [warn]
`

const OPTIONS = {
  listen: { type: 'string', multiple: true },
  control: { type: 'string', default: '127.0.0.1:9022' },
  secret: { type: 'string' },
  'secret-file': { type: 'string' },
  advertise: { type: 'string' },
  'local-network': { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-ca': { type: 'string' },
  'tls-require-client-cert': { type: 'boolean', default: false },
  'tls-accept-any-server': { type: 'boolean', default: false },
  dns: { type: 'string', multiple: true },
  'session-refresher': { type: 'string', default: 'uac' },
  'no-nat': { type: 'boolean', default: false },
  exempt: { type: 'string', multiple: true },
  t1: { type: 'string', default: '500' },
  drain: { type: 'string', default: '60' },
  'log-level': { type: 'string', default: 'warn' },
  help: { type: 'boolean', default: false },
} as const

type Values = ReturnType<typeof parseOptions<typeof OPTIONS>>['values']

/** Runs the server until a signal. Returns the exit status. */
export async function sipServerCommand(args: readonly string[]): Promise<number> {
  const { values } = parseOptions(args, OPTIONS)
  if (values.help) {
    process.stdout.write(SIP_SERVER_HELP)
    return 0
  }
  const level = oneOf('--log-level', values['log-level'], ['debug', 'info', 'warn', 'error', 'silent'])
  const drainMs = numberOf('--drain', values.drain, 0, 7200) * 1000
  const log = openLog(level, process.stderr)
  const signals = new Signals()
  try {
    const server = await openEmbeddedServer({ ...settingsOf(values), log })
    try {
      process.stdout.write(`${readyLine(server, values.control ?? '')}\n`)
      await signals.first
      await Promise.race([server.drain(drainMs), signals.second])
    } finally {
      await server.close()
    }
    return 0
  } finally {
    signals.close()
    log.flush()
  }
}

function readyLine(server: EmbeddedServer, control: string): string {
  const text = (address: string) => (address.includes(':') ? `[${address}]` : address)
  const sip = server.endpoints.map(({ transport, address, port }) => `${transport}:${text(address)}:${port}`)
  const { host } = hostPort('--control', control)
  return `parley sip-server ready: sip ${sip.join(',')} control ${text(host)}:${server.controlPort}`
}

function settingsOf(values: Values): EmbeddedServerSettings {
  const listed = sipAddresses((values.listen ?? ['udp:127.0.0.1:5060,tcp:127.0.0.1:5060']).join(','))
  if (!listed.ok) throw new UsageError(`--listen: ${listed.fix}`)
  const { advertise, 'local-network': localNetwork } = values
  if (advertise !== undefined && isIP(advertise) === 0) {
    throw new UsageError('--advertise must be an IP address')
  }
  if (localNetwork !== undefined && !(localNetwork.includes('/') && networks(localNetwork).ok)) {
    throw new UsageError('--local-network must be a network, for example 10.0.0.0/8')
  }
  const control = hostPort('--control', values.control ?? '')
  const T1 = numberOf('--t1', values.t1, 1, 10_000)
  return {
    listen: listed.value.map((address) => ({
      ...address,
      ...(advertise === undefined || isIP(advertise) !== isIP(address.address) ? {} : { advertise }),
      ...(localNetwork === undefined ? {} : { localNetwork }),
    })),
    control: { address: control.host, port: control.port, secret: secretOf(values) },
    clock: systemClock,
    timers: { T1, T2: T2_FACTOR * T1, T4: T4_FACTOR * T1 },
    nat: !values['no-nat'],
    sessionRefresher: oneOf('--session-refresher', values['session-refresher'], ['none', 'uac', 'uas']),
    ...tlsOf(values),
    ...exemptOf(values),
    ...(values.dns === undefined ? {} : { dns: openDns(values.dns.map(dnsServer)) }),
  }
}

function secretOf(values: Values): string {
  const { secret, 'secret-file': file } = values
  if ((secret === undefined) === (file === undefined)) {
    throw new UsageError('give the secret for applications: --secret SECRET or --secret-file FILE')
  }
  const found = secret ?? readSecret(file ?? '')
  if (found === '' || /[|\r\n]/.test(found)) throw new UsageError('the secret must be one line without |')
  return found
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new EngineError('config_invalid', `${file}: ${errorText(error)}`, { cause: error })
  }
}

function tlsOf(values: Values): Pick<EmbeddedServerSettings, 'tls'> {
  const { 'tls-cert': certificate, 'tls-key': key, 'tls-ca': authorities } = values
  if ((certificate === undefined) !== (key === undefined)) {
    throw new UsageError('--tls-cert and --tls-key require each other')
  }
  if (certificate === undefined || key === undefined) return {}
  return {
    tls: {
      ...readTls({ certificate, key, authorities: authorities ?? null }),
      verifyServers: !values['tls-accept-any-server'],
      verifyClients: values['tls-require-client-cert'],
    },
  }
}

function exemptOf({ exempt = [] }: Values): Pick<EmbeddedServerSettings, 'guard'> {
  const wrong = exempt.find((text) => !(text.includes('/') && networks(text).ok))
  if (wrong !== undefined) throw new UsageError('--exempt must be a network, for example 203.0.113.0/24')
  return { guard: { exempt: [...DEFAULT_GUARD.exempt, ...exempt] } }
}

function dnsServer(text: string): string {
  if (isIP(text) === 0) hostPort('--dns', text)
  return text
}

function hostPort(option: string, text: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  if (host === undefined || isIP(host) === 0 || Number(port) > 65_535) {
    throw new UsageError(`${option} must be address:port, for example 127.0.0.1:9022`)
  }
  return { host, port: Number(port) }
}

function numberOf(option: string, text: string | undefined, min: number, max: number): number {
  const parsed = integer(min, max)(text ?? '')
  if (!parsed.ok) throw new UsageError(`${option}: ${parsed.fix}`)
  return parsed.value
}
