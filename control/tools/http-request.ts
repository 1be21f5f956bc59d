import type { HttpToolAuth, HttpToolRequest } from '../../media/agent/agent-spec.js'
import { credentialHeaders, credentialParameters, headerNameProblem } from './credential-names.js'

/** Values of the secrets of a request. Null if it has none. */
export interface ToolSecrets {
  readonly primary: string | null
  readonly secondary: string | null
}

export interface BuiltRequest {
  readonly method: HttpToolRequest['method']
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Body. Null for methods with arguments in the query. */
  readonly body: string | null
}

const IN_QUERY: ReadonlySet<HttpToolRequest['method']> = new Set(['GET', 'DELETE'])

/**
 * Returns why a request cannot be made, as the model receives it, or null. Saving a tool checks its headers;
 * tools that were saved by an earlier release are checked here only.
 */
export function requestProblem(
  request: HttpToolRequest,
  args: Readonly<Record<string, unknown>>,
): string | null {
  if (credentialHeaders(request.auth).some(({ name }) => headerNameProblem(name) !== null)) {
    return 'Failed: the service sets a header of this tool itself. Nothing was sent.'
  }
  if (!IN_QUERY.has(request.method)) return null
  // Servers disagree about which of two values counts.
  const fixed = new Set([...new URL(request.url).searchParams.keys(), ...credentialParameters(request.auth)])
  const twice = Object.keys(args).find((name) => fixed.has(name))
  if (twice === undefined) return null
  return `Failed: the address of this tool already has the parameter ${twice}. Leave it out. Nothing was sent.`
}

/**
 * Returns the request of an HTTP tool with the arguments of the model and the credentials. The arguments
 * are in the query for GET and DELETE, else in a JSON or form body, below `bodyRoot` if set.
 */
export function buildRequest(
  request: HttpToolRequest,
  args: Readonly<Record<string, unknown>>,
  secrets: ToolSecrets,
): BuiltRequest {
  const url = new URL(request.url)
  const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'parley' }
  let body: string | null = null
  if (IN_QUERY.has(request.method)) {
    for (const [name, value] of Object.entries(args)) url.searchParams.append(name, textOf(value))
  } else if (request.bodyFormat === 'form') {
    headers['content-type'] = 'application/x-www-form-urlencoded'
    body = formOf(args, request.bodyRoot)
  } else {
    headers['content-type'] = 'application/json'
    body = JSON.stringify(request.bodyRoot === null ? args : { [request.bodyRoot]: args })
  }
  for (const [name, value] of Object.entries(request.headers)) headers[name.toLowerCase()] = value
  authenticate(request.auth, request.connectionId !== null, secrets, url, headers)
  return { method: request.method, url: url.href, headers, body }
}

function authenticate(
  auth: HttpToolAuth | null,
  connected: boolean,
  { primary, secondary }: ToolSecrets,
  url: URL,
  headers: Record<string, string>,
): void {
  if (primary !== null) {
    const type = auth?.type ?? (connected ? 'bearer' : 'none')
    if (type === 'bearer') headers[(auth?.header ?? 'authorization').toLowerCase()] = `Bearer ${primary}`
    else if (type === 'basic') headers.authorization = `Basic ${base64(auth?.name ?? null, primary)}`
    else if (type === 'api_key')
      setCredential(auth?.in ?? 'header', auth?.name ?? 'x-api-key', primary, url, headers)
  }
  if (auth?.secondary && secondary !== null) {
    setCredential(auth.secondary.in, auth.secondary.name, secondary, url, headers)
  }
}

function setCredential(
  where: 'header' | 'query',
  name: string,
  value: string,
  url: URL,
  headers: Record<string, string>,
): void {
  if (where === 'query') url.searchParams.set(name, value)
  else headers[name.toLowerCase()] = value
}

/** Without a user name the secret contains `user:password`. */
function base64(user: string | null, secret: string): string {
  return Buffer.from(user === null ? secret : `${user}:${secret}`, 'utf8').toString('base64')
}

function formOf(args: Readonly<Record<string, unknown>>, root: string | null): string {
  const form = new URLSearchParams()
  for (const [name, value] of Object.entries(args)) {
    form.append(root === null ? name : `${root}[${name}]`, textOf(value))
  }
  return form.toString()
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
