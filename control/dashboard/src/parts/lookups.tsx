import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { Item } from '../api.js'
import { useKey, useSession } from '../session.js'

interface Found<T> {
  readonly items: readonly T[]
}

/** Reads the agents for a choice or for their names. */
export function useAgentsQuery(): UseQueryResult<Found<Item<'listAgents'>>, Error> {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
}

/** Reads the numbers for a choice or for their names. */
export function useNumbersQuery(): UseQueryResult<Found<Item<'listNumbers'>>, Error> {
  const { api } = useSession()
  const key = useKey()
  return useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
}

/** Returns the agents, or null before they are read. */
export function useAgents(): readonly Item<'listAgents'>[] | null {
  return useAgentsQuery().data?.items ?? null
}

/** Returns the numbers, or null before they are read. */
export function useNumbers(): readonly Item<'listNumbers'>[] | null {
  return useNumbersQuery().data?.items ?? null
}

/** Returns the newest campaigns, or null before they are read. */
export function useCampaigns(): readonly Item<'listCampaigns'>[] | null {
  const { api } = useSession()
  const key = useKey()
  const { data } = useQuery({
    queryKey: key('campaigns', 'names'),
    queryFn: () => api.listCampaigns({ query: { limit: 100 } }),
  })
  return data?.items ?? null
}

/** Returns the names of the members by id, and those of the keys for who may see them. */
export function useNames(): ReadonlyMap<string, string> {
  const { api, canManage } = useSession()
  const key = useKey()
  const members = useQuery({ queryKey: key('members', 'names'), queryFn: () => api.listMembers() })
  const keys = useQuery({
    queryKey: key('keys', 'names'),
    queryFn: () => api.listApiKeys({ query: { limit: 100 } }),
    enabled: canManage,
  })
  return new Map([
    ...(members.data?.items ?? []).map(({ userId, name, email }) => [userId, name || email] as const),
    ...(keys.data?.items ?? []).map(({ id, name }) => [id, name] as const),
  ])
}
