// A proxy that adds a token to each request, for clients that cannot send one: node bearer.mjs BASE TOKEN. Prints its address.

import http from 'node:http';

const [base, token] = process.argv.slice(2);
const to = new URL(base);

const server = http.createServer((request, response) => {
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  const { method, url: path } = request;
  const out = http.request({ host: to.hostname, port: to.port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
  });
  out.on('error', () => response.destroy());
  response.on('close', () => out.destroy());
  request.pipe(out);
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
