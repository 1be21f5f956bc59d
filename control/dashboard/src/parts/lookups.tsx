import { useQuery } from '@tanstack/react-query'
import type { Item } from '../api.js'
import { useKey, useSession } from '../session.js'

/** Returns the agents, or null before they are read. */
export function useAgents(): readonly Item<'listAgents'>[] | null {
  const { api } = useSession()
  const key = useKey()
  const { data } = useQuery({
    queryKey: key('agents'),
    queryFn: () => api.listAgents({ query: { limit: 100 } }),
  })
  return data?.items ?? null
}

/** Returns the numbers, or null before they are read. */
export function useNumbers(): readonly Item<'listNumbers'>[] | null {
  const { api } = useSession()
  const key = useKey()
  const { data } = useQuery({
    queryKey: key('numbers'),
    queryFn: () => api.listNumbers({ query: { limit: 100 } }),
  })
  return data?.items ?? null
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
