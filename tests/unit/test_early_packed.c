#include "case.h"
int main(void)
{
    return 0;
}
