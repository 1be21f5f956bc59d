import { Anchor, Container, Paper, Stack, Text, Title } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useTranslations } from 'use-intl'
import { useKey, useSession, useSignOut } from '../session.js'
import { AddFactor } from './AddFactor.js'
import { Loaded } from './Page.js'

/** Replaces all pages until the user has a second factor. */
export function Enrolment({ done }: { readonly done: () => void }) {
  const t = useTranslations('security')
  const tHead = useTranslations('head')
  const { api, user } = useSession()
  const key = useKey()
  const queries = useQueryClient()
  const factors = useQuery({ queryKey: key('factors'), queryFn: () => api.readFactors() })
  const leave = useSignOut()
  const enter = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: ['session'] })
    done()
  }
  return (
    <Container component="main" size={520} py="xl">
      <Title order={1} size="h2" mb="md">
        {t('needed')}
      </Title>
      <Paper withBorder p="lg">
        <Stack>
          <Text>{user.staff ? t('neededStaff') : t('neededMember')}</Text>
          <Loaded query={factors} height={80}>
            {({ passkeyOrigin }) => <AddFactor origin={passkeyOrigin} done={() => void enter()} />}
          </Loaded>
          <Anchor component="button" type="button" underline="always" onClick={() => void leave()}>
            {tHead('signOut')}
          </Anchor>
        </Stack>
      </Paper>
    </Container>
  )
}
