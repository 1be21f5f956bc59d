#!/usr/bin/env node
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { systemClock } from '../../media/base/clock.js'
import { EngineError, errorText } from '../../media/base/errors.js'
import { projectRoot } from '../../media/base/project-root.js'
import { type Bootstrap, createOperatorKey } from '../access/accounts/bootstrap.js'
import { Email, KnownEmail } from '../access/accounts/schemas.js'
import { createStaffUser } from '../access/accounts/staff-user.js'
import { resetFactors } from '../access/factors/reset.js'
import type { Environment, Scope } from '../api/actor.js'
import { SCOPES } from '../api/scopes.js'
import { parseInstant } from '../base/instant.js'
import { openPasswordHasher } from '../base/passwords.js'
import { addRootKey, openRootKey } from '../base/root-key.js'
import { policyInForce } from '../compliance/policy.js'
import { readEnvironment, readSettings, type Settings, unknownVariables } from '../config/settings.js'
import { VARIABLES } from '../config/variables.js'
import { type Db, openDatabase, UNLIMITED } from '../db/database.js'
import { migrate } from '../db/migrate.js'
import { openLog, type ServiceLog } from '../observe/log.js'
import { retryResult } from '../results/store.js'
import { resealAll } from '../secrets/reseal.js'
import { oneOf, parseOptions, Signals, UsageError } from './options.js'
import { UncaughtErrors } from './uncaught-errors.js'
import { addToWallet } from './wallet-add.js'

const COMMANDS = `parley start
    Runs the service until SIGTERM or SIGINT. It then refuses new calls, lets live calls continue for
    PARLEY_DRAIN_SECONDS at most, and exits with status 0. A second signal ends it at once.

parley keys create --environment test|live [--scopes read|write|admin] [--name NAME] [--expires TIME]
    Creates an API key for the first organization and prints it once.
    --scopes is read by default; each scope includes the ones before it. --expires is an ISO 8601 time.

parley keys rotate-root
    Stop the service first. Adds a new root key at the front of root.key and re-encrypts all secrets of
    the earlier keys. With PARLEY_ROOT_KEY, put the new key at its front first and then run this command.

parley staff create --email ADDRESS
    Creates a staff account and prints its password once. Staff sign in like other users, may call the
    operations under /v1/staff only, and belong to no organization. The first sign-in adds a second factor.

parley factors reset --email ADDRESS
    Removes all second factors and recovery codes of a member or of staff who lost them, and signs the account out
    everywhere. Make sure first who asks: the password alone then suffices until a new factor is added.

parley wallet add --rupees AMOUNT --reference TEXT [--organization ID]
    Adds money to the wallet of an organization, by default the first one. A reference adds money once.

parley invoices export --from DAY --to DAY --out FILE
    Writes the invoices and credit notes to registered recipients that have no IRN in the e-invoice schema INV-01,
    for the bulk upload of the Invoice Registration Portal. Documents that it would refuse are named.

parley invoices import FILE
    Imports the answers of the portal, JSON or CSV: IRN, acknowledgement and signed QR code. Each answer is stored
    once and for ever; the answers that do not fit their documents are named. See docs/money.md.

parley dnd import FILE --scrubbed-at TIME [--valid-until TIME]
    Imports a scrub file of the DND register: CSV with the columns e164, listed (true or false) and, if
    needed, category. A file with a wrong row is not imported, and the lines are named. It is valid until
    the end of the seventh day (IST) at most. See docs/compliance.md.

parley policy
    Prints the rules of the compliance gate as JSON: the built-in ones with those of PARLEY_POLICY_FILE.

parley backup --to FILE
parley restore --from FILE [--revoke-sessions] [--revoke-keys]
    Copies the database to a new file while the service runs; restores it into an empty database before
    the service starts. PostgreSQL requires pg_dump and pg_restore. Recordings, documents and the root key
    are not copied; the command names their locations.

parley evidence export --environment test|live --out FILE [--organization ID]
    Writes the chain of sealed records to a file, by default that of the first organization.

parley evidence verify FILE [--key KEY] [--head NUMBER:HASH ...] [--authorities PEM]
    Verifies an exported chain without the service, names every broken record and its line, and decides each
    call again from its sealed facts. --key and --head are known from elsewhere; --authorities are certificates
    of time stamp authorities. See docs/evidence.md.

parley trace CALL_ID [--full|--json]
    Prints the SIP messages of a call as a ladder, during the call and PARLEY_SIP_TRACE_HOURS after it;
    --full adds headers and bodies. Secrets are masked, phone numbers are not. Then prints one row per
    utterance of the agent with its delays, tokens, characters and recognised audio. The rows are kept as
    long as the transcript.

parley talk [--agent FILE_OR_ID] [--variable NAME=VALUE ...] [--trace] [--in FILE.wav ... --out FILE.wav]
    Talks to an agent without telephony, with its real prompt, model, tools and turn-taking: in text,
    without STT and TTS, or in audio, with recordings of a caller as input. FILE contains JSON like the
    body of POST /v1/agents. Lines come from standard input. parley talk --help lists the options.

parley knowledge try FILE "QUESTION"
    Reads a document as a build does and prints the passages that an agent would get for the question,
    with their scores and how they were found; by meaning too when PARLEY_EMBEDDINGS_MODEL is set.

parley models check DIR [--threads N] [--audio FILE.wav]
    Loads the speech recognition model of a folder (sherpa-onnx) and tells what it is, whether it fits, and how much
    memory and time it takes. A folder that does not fit is refused with what is missing. See docs/local.md.

parley models serve DIR|pocketsphinx [--threads N] [--port PORT]
    Checks the model, then serves it to this machine on the wires of OpenAI, and prints the settings with which the
    service uses it.

parley results again CALL_ID
    Asks the language model again for the results of an ended call: summary, outputs, evaluation.

parley draw CALL_ID [--out FILE.svg] [--peaks FILE.json]
    Draws a call: both waveforms, turns, interruptions, delays and DTMF digits. --peaks writes the
    waveform as JSON (audiowaveform, version 2), without the drawing unless --out is given.

parley bot-check URL [--type TYPE] [--format FORMAT] [--rate HZ] [--secret SECRET] [--param NAME=VALUE] [--private]
    Calls a WebSocket bot as the service would, with a simulated caller of 8 s, and prints findings about
    its protocol, delays and audio. --private allows ws and addresses of this network. See docs/byo.md.

parley sip-server --secret SECRET [options]
    Runs the SIP server alone, for any drachtio-srf application. parley sip-server --help lists the
    options.

parley webhooks listen --forward URL --key KEY [--events TYPE,TYPE] [--api URL] [--secret SECRET]
    Prints the events of the key's environment and forwards them to a local program, signed like
    webhooks. No endpoint is needed. --api is the running service, by default the one configured here.

parley --help | --version
`

export function helpText(): string {
  const width = Math.max(...VARIABLES.map(({ name }) => name.length))
  const lines = VARIABLES.map((variable) => {
    const byDefault = variable.default === '' ? '' : ` [${variable.default}]`
    return `  ${variable.name.padEnd(width)}  ${variable.description}${byDefault}`
  })
  return `Parley: a self-hosted voice-agent calling service.\n\n${COMMANDS}\nSettings, from the environment or a .env file in the current folder:\n\n${lines.join('\n')}\n`
}

function settingsOrThrow(): Settings {
  const environment = readEnvironment(process.cwd())
  const unknown = unknownVariables(environment)
  if (unknown.length > 0) {
    throw new EngineError(
      'config_invalid',
      unknown.map((name) => `${name}: there is no such setting; parley --help lists them`).join('\n'),
    )
  }
  return readSettings(environment, process.cwd())
}

function firstStartText(first: Bootstrap): string {
  return [
    '',
    'First start: a workspace was made. This is shown once.',
    `  Owner       ${first.email}, password ${first.password}`,
    `  Test key    ${first.testKey}`,
    `  Live key    ${first.liveKey}`,
    '  Use         send a key as "Authorization: Bearer <key>"; the owner signs in with POST /v1/auth/login',
    '  More keys   parley keys create --environment test --scopes admin',
    '',
    '',
  ].join('\n')
}

/** Time in which a service closes after its last call (ms). */
const CLOSE_LIMIT_MS = 30_000

/** Ends the process after `ms` unless it has ended: after an uncaught error, closing may never finish. */
function exitAfter(ms: number, log: ServiceLog): void {
  setTimeout(() => {
    log.error({ ms }, 'service.close_timed_out')
    log.flush()
    process.exit(1)
  }, ms).unref()
}

async function start(): Promise<number> {
  const settings = settingsOrThrow()
  const log = openLog(settings.logLevel)
  // Created first, so that a signal during start-up is not lost.
  const signals = new Signals()
  try {
    const { startParley } = await import('../app/service.js')
    const { sipAddressText } = await import('../app/sip-connection.js')
    const parley = await startParley(settings, { clock: systemClock, log })
    if (parley.firstStart !== null) process.stderr.write(firstStartText(parley.firstStart))
    const sip = parley.sip.map(sipAddressText)
    log.info({ api: parley.httpUrl, sip }, 'service.ready')
    // From now on calls may be live.
    const uncaught = new UncaughtErrors(log)
    try {
      const reason = await Promise.race([signals.first, uncaught.first])
      log.info({ reason, live: parley.live, seconds: settings.drainSeconds }, 'service.draining')
      if (uncaught.any) exitAfter(settings.drainSeconds * 1000 + CLOSE_LIMIT_MS, log)
      await Promise.race([parley.drain(), signals.second])
    } finally {
      await parley.close()
      uncaught.close()
    }
    log.info({}, 'service.stopped')
    return uncaught.any ? 1 : 0
  } finally {
    signals.close()
    log.flush()
  }
}

async function createKey(args: readonly string[]): Promise<number> {
  const { values } = parseOptions(args, {
    environment: { type: 'string' },
    scopes: { type: 'string', default: 'read' },
    name: { type: 'string', default: 'Made on the command line' },
    expires: { type: 'string' },
  })
  const environment: Environment = oneOf('--environment', values.environment, ['test', 'live'])
  const scopes: Scope[] = (values.scopes ?? '').split(',').map((text) => oneOf('--scopes', text, SCOPES))
  const name = values.name ?? ''
  if (name.length < 1 || name.length > 80) throw new UsageError('--name must have 1 to 80 characters')
  const expiresAt = values.expires === undefined ? null : parseInstant(values.expires)
  if (values.expires !== undefined && (expiresAt === null || expiresAt <= systemClock.wall())) {
    throw new UsageError('--expires must be a future ISO 8601 time, for example 2027-01-31T00:00:00Z')
  }
  return withDatabase(async (db, settings) => {
    const rootKey = openRootKey(settings.rootKey, settings.dataFolder)
    const key = await createOperatorKey(db, rootKey, systemClock, { environment, scopes, name, expiresAt })
    if (key === null) throw new UsageError('the database is empty: run "parley start" once first')
    process.stdout.write(`${key.key}\n`)
  })
}

async function rotateRoot(args: readonly string[]): Promise<number> {
  parseOptions(args, {})
  return withDatabase(async (db, settings) => {
    const { rootKey: configured, dataFolder } = settings
    const rootKey = configured === null ? addRootKey(dataFolder) : openRootKey(configured, dataFolder)
    if (rootKey.previous.length === 0) {
      throw new UsageError(
        'PARLEY_ROOT_KEY contains one key: set it to the new key, a comma and the current key',
      )
    }
    const { changed, unreadable } = await resealAll(db, rootKey)
    process.stdout.write(`${changed} secrets encrypted with the new root key\n`)
    if (unreadable > 0) {
      throw new EngineError('storage_failed', `${unreadable} secrets need a root key that is not configured`)
    }
  })
}

async function createStaff(args: readonly string[]): Promise<number> {
  const { values } = parseOptions(args, { email: { type: 'string' } })
  const email = Email.safeParse(values.email ?? '')
  if (!email.success) throw new UsageError('--email must be an email address')
  return withDatabase(async (db) => {
    const made = await createStaffUser(
      { db, clock: systemClock, passwords: openPasswordHasher() },
      email.data,
    )
    if (made === null) throw new UsageError(`${email.data} has an account already`)
    process.stdout.write(`${made.password}\n`)
  })
}

async function resetSecondFactors(args: readonly string[]): Promise<number> {
  const { values } = parseOptions(args, { email: { type: 'string' } })
  const email = KnownEmail.safeParse(values.email ?? '')
  if (!email.success) throw new UsageError('--email must be the address of an account')
  return withDatabase(async (db) => {
    const removed = await resetFactors({ db, clock: systemClock }, email.data)
    if (removed === null) throw new UsageError(`${email.data} has no account`)
    process.stdout.write(
      `${removed} second ${removed === 1 ? 'factor' : 'factors'} removed; the account is signed out everywhere\n`,
    )
  })
}

async function resultsAgain(args: readonly string[]): Promise<number> {
  const [callId, ...more] = args
  if (callId === undefined || more.length > 0)
    throw new UsageError('give one call id: parley results again CALL_ID')
  const { canAnswer } = await import('../app/background.js')
  return withDatabase(async (db, { providers }) => {
    const answers = (model: string) => canAnswer(model, providers)
    const outcome = await retryResult(db, callId, systemClock.wall(), answers)
    if (outcome === 'no_conversation') {
      throw new UsageError(`${callId}: there is no such call, or it had no conversation`)
    }
    if (outcome === 'no_model') {
      throw new UsageError(`${callId}: no vendor is configured for the language model of its agent`)
    }
    process.stdout.write('The running service asks within a second. Read the call to see the result.\n')
  })
}

/** Runs one command on the service's database after migrating it. Returns exit status 0. */
async function withDatabase(work: (db: Db, settings: Settings) => Promise<void>): Promise<number> {
  const settings = settingsOrThrow()
  const database = openDatabase(settings.databaseUrl, openLog('warn'), () => {}, UNLIMITED)
  try {
    await migrate(database)
    await work(database.db, settings)
    return 0
  } finally {
    await database.close()
  }
}

/** Runs one command on the service's database and prints its report. Returns exit status 1 if it is not complete. */
async function withReport(
  work: (db: Db) => Promise<{ readonly text: string; readonly complete: boolean }>,
): Promise<number> {
  let status = 0
  await withDatabase(async (db) => {
    const { text, complete } = await work(db)
    process.stdout.write(`${text}\n`)
    if (!complete) status = 1
  })
  return status
}

/** Runs one command line. Returns the exit status. A command's modules are loaded when it runs: all take seconds. */
export async function run(args: readonly string[]): Promise<number> {
  const [command, ...rest] = args
  // These commands have a help text of their own.
  if (command === 'sip-server') {
    const { sipServerCommand } = await import('./sip-server.js')
    return sipServerCommand(rest)
  }
  if (command === 'talk') {
    const { talkCommand } = await import('./talk/command.js')
    return talkCommand(rest, withDatabase)
  }
  if (command === undefined || command === '--help' || command === 'help' || rest.includes('--help')) {
    process.stdout.write(helpText())
    return command === undefined ? 2 : 0
  }
  if (command === '--version') {
    const { version } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'))
    process.stdout.write(`${version}\n`)
    return 0
  }
  if (command === 'start') {
    parseOptions(rest, {})
    return start()
  }
  if (command === 'backup' || command === 'restore') {
    const { backupCommand } = await import('./backup.js')
    return backupCommand(command, rest, settingsOrThrow)
  }
  if (command === 'bot-check') {
    const { botCheckCommand } = await import('./bot-check.js')
    return botCheckCommand(rest)
  }
  if (command === 'trace') {
    const { traceCommand } = await import('./trace.js')
    return traceCommand(rest, withDatabase)
  }
  if (command === 'draw') {
    const { drawCommand } = await import('./draw.js')
    return drawCommand(rest, withDatabase)
  }
  if (command === 'policy') {
    const { policyFile } = readSettings(readEnvironment(process.cwd()), process.cwd())
    const { version, rules } = policyInForce(policyFile)
    process.stdout.write(`${JSON.stringify({ version, rules }, null, 2)}\n`)
    return 0
  }
  if (command === 'dnd' && rest[0] === 'import') {
    const { importScrubFile } = await import('./dnd-import.js')
    return withDatabase(
      async (db) => void process.stdout.write(`${await importScrubFile(db, rest.slice(1))}\n`),
    )
  }
  if (command === 'evidence' && rest[0] === 'export') {
    const { exportCommand } = await import('./evidence.js')
    return withDatabase((db, settings) => exportCommand(db, settings, rest.slice(1)))
  }
  if (command === 'evidence' && rest[0] === 'verify') {
    const { verifyCommand } = await import('./evidence.js')
    return verifyCommand(rest.slice(1))
  }
  if (command === 'invoices' && rest[0] === 'export') {
    const { exportInvoices } = await import('./invoices-export.js')
    return withReport((db) => exportInvoices(db, rest.slice(1)))
  }
  if (command === 'invoices' && rest[0] === 'import') {
    const { importInvoices } = await import('./invoices-import.js')
    return withReport((db) => importInvoices(db, rest.slice(1)))
  }
  if (command === 'keys' && rest[0] === 'create') return createKey(rest.slice(1))
  if (command === 'keys' && rest[0] === 'rotate-root') return rotateRoot(rest.slice(1))
  if (command === 'knowledge' && rest[0] === 'try') {
    const { tryKnowledge } = await import('./knowledge-try.js')
    const { openEmbedder } = await import('../../media/vendors/openai/embeddings.js')
    const { embeddings } = settingsOrThrow().knowledge
    const embedder = embeddings === null ? null : openEmbedder(embeddings, { clock: systemClock })
    process.stdout.write(await tryKnowledge(rest.slice(1), embedder))
    return 0
  }
  if (command === 'models') {
    const { modelsCommand } = await import('./models.js')
    return modelsCommand(rest)
  }
  if (command === 'results' && rest[0] === 'again') return resultsAgain(rest.slice(1))
  if (command === 'webhooks' && rest[0] === 'listen') {
    const { listenForWebhooks } = await import('./webhooks-listen-command.js')
    return listenForWebhooks(rest.slice(1), settingsOrThrow)
  }
  if (command === 'staff' && rest[0] === 'create') return createStaff(rest.slice(1))
  if (command === 'factors' && rest[0] === 'reset') return resetSecondFactors(rest.slice(1))
  if (command === 'wallet' && rest[0] === 'add') {
    return withDatabase(async (db) => void process.stdout.write(`${await addToWallet(db, rest.slice(1))}\n`))
  }
  throw new UsageError(`no such command: ${args.join(' ')}`)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  run(process.argv.slice(2)).then(
    (status) => {
      process.exitCode = status
    },
    (error: unknown) => {
      const usage = error instanceof UsageError
      process.stderr.write(`${errorText(error)}\n${usage ? 'See parley --help.\n' : ''}`)
      process.exitCode = usage ? 2 : 1
    },
  )
}
