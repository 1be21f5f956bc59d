import { Anchor, Button, Container, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useTranslations } from 'use-intl'
import { SessionApi } from '../api.js'
import { Problem } from '../parts/Problem.js'

/** Signs in with an email address and a password. */
export function SignIn() {
  const t = useTranslations('signIn')
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [email, setEmail] = useState('')
  const [password, setPassword] = useState('')
  const signIn = useMutation({
    mutationFn: () =>
      new SessionApi({ environment: 'test', organizationId: null }).logIn({ body: { email, password } }),
    onSuccess: (session) => {
      queries.setQueryData(['session'], session)
      // The environment is never remembered: a new session begins in the test environment.
      void navigate({ to: '/$environment', params: { environment: 'test' } })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    signIn.mutate()
  }
  return (
    <Container component="main" size={420} py="xl">
      <Title order={1} size="h2" mb="md">
        {t('title')}
      </Title>
      <Paper withBorder p="lg">
        <form onSubmit={submit}>
          <Stack>
            {signIn.error !== null && <Problem error={signIn.error} />}
            <TextInput
              label={t('email')}
              type="email"
              name="email"
              autoComplete="username"
              required
              value={email}
              onChange={({ currentTarget }) => setEmail(currentTarget.value)}
            />
            <PasswordInput
              label={t('password')}
              name="password"
              visibilityToggleButtonProps={{ 'aria-label': t('show') }}
              autoComplete="current-password"
              required
              value={password}
              onChange={({ currentTarget }) => setPassword(currentTarget.value)}
            />
            <Button type="submit" loading={signIn.isPending}>
              {t('submit')}
            </Button>
            <Anchor underline="always" href={new URL('../forgot-password', document.baseURI).href}>
              {t('forgot')}
            </Anchor>
            <Anchor underline="always" component={Link} to="/sign-up">
              {t('noAccount')}
            </Anchor>
          </Stack>
        </form>
      </Paper>
    </Container>
  )
}
