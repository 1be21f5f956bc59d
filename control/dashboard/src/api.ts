import { Api } from '../../../clients/typescript/generated/api.js'

export type Environment = 'test' | 'live'

/** Environment and organization of a session. Empty before the sign-in. */
export interface Scope {
  readonly environment: Environment
  readonly organizationId: string | null
}

const SAFE = new Set(['GET', 'HEAD'])

/** The service, called with the session of this browser instead of an API key. */
export class SessionApi extends Api {
  constructor(scope: Scope) {
    super({
      baseUrl: new URL('..', document.baseURI).href,
      retries: 2,
      fetch: (input, init) => {
        const headers = new Headers(init?.headers)
        headers.set('x-svc-environment', scope.environment)
        if (scope.organizationId !== null) headers.set('x-svc-organization', scope.organizationId)
        if (!SAFE.has(init?.method ?? 'GET')) headers.set('x-svc-csrf', cookie('svc_csrf') ?? '')
        return fetch(input, { ...init, headers, credentials: 'same-origin' })
      },
    })
  }
}

/** Tells whether this browser may have a session. */
export function hasSessionCookie(): boolean {
  return cookie('svc_csrf') !== null
}

function cookie(name: string): string | null {
  for (const pair of document.cookie.split('; ')) {
    if (pair.startsWith(`${name}=`)) return pair.slice(name.length + 1)
  }
  return null
}

/** Result of an operation of the service. */
export type Result<Name extends keyof Api> = Api[Name] extends (...args: never[]) => Promise<infer R>
  ? R
  : never
/** One item of a list. */
export type Item<Name extends keyof Api> =
  Result<Name> extends { readonly items: readonly (infer T)[] } ? T : never
