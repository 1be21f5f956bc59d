import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { ParleyError } from '../../../clients/typescript/errors.js'
import { type Environment, hasSessionCookie, type Result, SessionApi } from './api.js'

type SignedIn = Result<'readSession'>
type Organization = SignedIn['organizations'][number]

/** Session of the signed-in pages. */
export interface Session {
  readonly user: SignedIn['user']
  readonly organizations: readonly Organization[]
  /** Null in the staff area. */
  readonly organization: Organization | null
  readonly environment: Environment
  readonly api: SessionApi
  /** May change what the organization has. */
  readonly canWrite: boolean
  /** Owner or admin. */
  readonly canManage: boolean
  /** May pay and see bills: owner, admin or billing. */
  readonly canPay: boolean
}

const Context = createContext<Session | null>(null)
const ORGANIZATION = 'parley-organization'

/** Returns the session of a signed-in page. */
export function useSession(): Session {
  const session = useContext(Context)
  if (session === null) throw new Error('This part needs a session.')
  return session
}

/** Reads the session. `undefined` while it is read, null when no user is signed in. */
export function useSignedIn(): Pick<UseQueryResult<SignedIn | null, Error>, 'data' | 'error' | 'refetch'> {
  return useQuery<SignedIn | null, Error>({
    queryKey: ['session'],
    staleTime: 60_000,
    retry: false,
    queryFn: async (): Promise<SignedIn | null> => {
      // Without the cookie the answer is known, and a browser would log a failed request.
      if (!hasSessionCookie()) return null
      try {
        return await new SessionApi({ environment: 'test', organizationId: null }).readSession()
      } catch (error) {
        if (error instanceof ParleyError && error.status === 401) return null
        throw error
      }
    },
  })
}

/**
 * Tells whether the user has to add a second factor before anything else. It stays true until `done`: the session has
 * its factor before the user has saved the recovery codes.
 */
export function useEnrolment(
  signedIn: SignedIn | null | undefined,
  demanded: boolean,
): { readonly isOpen: boolean; readonly done: () => void } {
  const needed = demanded && signedIn?.secondFactor.proven === false
  const [begun, setBegun] = useState(false)
  useEffect(() => {
    if (needed) setBegun(true)
  }, [needed])
  return { isOpen: needed || begun, done: () => setBegun(false) }
}

/** Provides the session of one organization and environment, or of the staff area. */
export function SessionProvider(props: {
  readonly signedIn: SignedIn
  readonly organization: Organization | null
  readonly environment: Environment
  readonly children: ReactNode
}) {
  const { signedIn, organization, environment, children } = props
  const session = useMemo((): Session => {
    const { user, organizations } = signedIn
    const api = new SessionApi({ environment, organizationId: organization?.id ?? null })
    const role = organization?.role ?? ''
    const canManage = ['owner', 'admin'].includes(role)
    return {
      user,
      organizations,
      organization,
      environment,
      api,
      canManage,
      canWrite: canManage || role === 'developer',
      canPay: canManage || role === 'billing',
    }
  }, [signedIn, organization, environment])
  return <Context value={session}>{children}</Context>
}

/** Returns the organization that the user chose last, or the first one. */
export function chosenOrganization(organizations: readonly Organization[]): Organization | undefined {
  const chosen = localStorage.getItem(ORGANIZATION)
  return organizations.find(({ id }) => id === chosen) ?? organizations[0]
}

/** Returns a function that switches the organization. Data of the previous one is dropped. */
export function useChooseOrganization(): (id: string) => void {
  const client = useQueryClient()
  return (id) => {
    localStorage.setItem(ORGANIZATION, id)
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    void client.invalidateQueries({ queryKey: ['session'] })
  }
}

/** Returns a function that ends the session. The page then shows the sign-in. */
export function useSignOut(): () => Promise<void> {
  const { api } = useSession()
  const client = useQueryClient()
  return async () => {
    await api.logOut()
    // Keeps the query of the session itself: pages are not told of a removed query.
    client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' })
    client.setQueryData(['session'], null)
  }
}

/** Returns the cache key of a query: data of an organization and environment never mixes with that of another. */
export function useKey(): (...parts: readonly unknown[]) => readonly unknown[] {
  const { organization, environment } = useSession()
  return (...parts) => [organization?.id ?? 'staff', environment, ...parts]
}
